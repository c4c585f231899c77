#!/usr/bin/env python3
"""Writes the two data sets of the repository: scenes of a play, and a list of names.

usage: make_corpus.py FOLDER            writes FOLDER/scenes.txt and FOLDER/names.txt
       make_corpus.py --check FOLDER    fails if the files in FOLDER are not what would be written

Both are made by the small grammars below and by nothing else: no text is quoted, so no licence but ours
applies. The random numbers are those of include/burtorch/base/rng.hpp and not Python's, whose choices may
change with its version; so the files are the same everywhere, byte for byte.
"""
import pathlib
import sys

SEED = 2025
SCENES_BYTES = 100_000
NAMES = 4_000


class Random:
    """SplitMix64, as Rng in include/burtorch/base/rng.hpp."""

    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        z = self.state
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
        return z ^ z >> 31

    def below(self, count):
        while True:
            product = (self.next() >> 32) * count
            if product % 2**32 >= 2**32 % count:
                return product >> 32

    def pick(self, items):
        return items[self.below(len(items))]

    def sample(self, items, count):
        """`count` different items in random order."""
        left = list(items)
        return [left.pop(self.below(len(left))) for _ in range(count)]


# ---- Scenes: the words ----

# Together their capitals are the whole alphabet.
MEN = "Quill Jory Finch Bram Kit Hugo Percy".split()
WOMEN = "Vera Zelda Xanthe Odette Winifred Margery Sabine".split()
ROLES_HE = "miller baker captain king doctor sailor thief judge smith shepherd stranger".split()
ROLES_SHE = "queen widow nurse singer duchess".split()

THINGS = ("lantern letter ring crown key basket coat bell mirror knife cup book candle ladder drum fiddle "
          "purse map box apple").split()
THING_ADJECTIVES = ("old broken silver wooden little heavy golden plain strange red black green small fine "
                    "rusty half-burnt well-made sea-green borrowed stolen").split()
# base, third person, past, participle
THING_VERBS = [forms.split() for forms in (
    "take takes took taken", "hide hides hid hidden", "find finds found found", "lose loses lost lost",
    "keep keeps kept kept", "bring brings brought brought", "mend mends mended mended",
    "sell sells sold sold", "steal steals stole stolen", "buy buys bought bought",
    "break breaks broke broken", "carry carries carried carried", "want wants wanted wanted",
    "drop drops dropped dropped", "paint paints painted painted", "send sends sent sent",
    "lend lends lent lent", "touch touches touched touched")]
PERSON_VERBS = [forms.split() for forms in (
    "trust trusts trusted trusted", "follow follows followed followed", "warn warns warned warned",
    "hear hears heard heard", "love loves loved loved", "fear fears feared feared",
    "greet greets greeted greeted", "forgive forgives forgave forgiven", "meet meets met met",
    "watch watches watched watched", "help helps helped helped", "thank thanks thanked thanked",
    "blame blames blamed blamed", "believe believes believed believed")]
SHARED_VERBS = [forms.split() for forms in (
    "sing sings sang sung", "wait waits waited waited", "walk walks walked walked",
    "dance dances danced danced", "return returns returned returned", "work works worked worked",
    "laugh laughs laughed laughed", "listen listens listened listened", "speak speaks spoke spoken")]
PLAIN_VERBS = SHARED_VERBS + [forms.split() for forms in (
    "sleep sleeps slept slept", "weep weeps wept wept", "run runs ran run", "rest rests rested rested",
    "hurry hurries hurried hurried", "dream dreams dreamed dreamed", "stay stays stayed stayed")]
# Where something may be, with the word that goes before it.
PLACES = [place.split() for place in (
    "in garden", "at mill", "under bridge", "by river", "behind chapel", "near well", "on hill", "in tower",
    "in kitchen", "at market", "in orchard", "in cellar", "in forest", "at inn", "by gate", "behind wall",
    "at harbour", "in stable", "beside church", "on road")]
MOODS = "tired happy afraid angry late hungry sick alone ready sorry lost calm".split()
QUALITIES = "proud honest brave wise young poor mad gentle cruel clever".split()
NATURE = [("rain", "falls"), ("moon", "rises"), ("storm", "comes"), ("wind", "turns"), ("snow", "falls"),
          ("night", "ends"), ("fire", "burns"), ("fog", "lifts"), ("sun", "sets"), ("river", "sleeps"),
          ("winter", "comes"), ("morning", "comes")]
NATURE_STATES = "cold dark long quiet warm bitter bright kind slow wild pale heavy deep frozen".split()
ABSTRACT = "love sorrow hope truth silence fortune justice youth sleep war peace music".split()
FUTURE = ["tomorrow", "tonight", "at dawn", "at noon", "before supper", "after the rain", "soon",
          "in the morning"]
PAST = ["yesterday", "last night", "this morning", "an hour ago", "in the spring", "long ago", "at midnight"]
MANNER = "slowly gently softly alone again quickly badly".split()
CALLS = ["Oh", "Ah", "Alas", "Well", "Come", "Look", "Hush", "Indeed", "Listen", "Truly"]
NOISES = ["A bell rings", "Thunder", "Music", "A door opens", "Laughter behind the wall", "A dog barks",
          "The candle goes out", "A horn sounds", "Rain", "Silence"]


# ---- Scenes: the grammar ----

def article(words):
    return ("an " if words[0] in "aeiou" else "a ") + words


def sentence(words, end="."):
    return words[0].upper() + words[1:] + end


def listed(names):
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


class Scene:
    """A place, two to four people, and a thing that they care about."""

    def __init__(self, random):
        self.random = random
        self.people = random.sample(MEN + WOMEN, 2 + random.below(3))
        self.thing = random.pick(THINGS)
        self.place = random.pick(PLACES)
        self.role = random.pick(ROLES_HE + ROLES_SHE)
        self.pronoun = "he" if self.role in ROLES_HE else "she"
        self.mentioned = set()

    def pick(self, items):
        return self.random.pick(items)

    def chance(self, percent):
        return self.random.below(100) < percent

    # Parts of a sentence.

    def new(self, choose):
        """Something that the sentence does not mention yet: nobody warns himself."""
        while True:
            found = choose()
            if found not in self.mentioned:
                self.mentioned.add(found)
                return found

    def topic(self):
        """The thing of the scene more often than another."""
        thing = self.thing if self.chance(60) else self.pick(THINGS)
        if self.chance(20):
            return f"{self.new(self.some_role)}'s {thing}"
        return f"the {self.pick(THING_ADJECTIVES)} {thing}" if self.chance(45) else f"the {thing}"

    def some_role(self):
        return f"the {self.role if self.chance(50) else self.pick(ROLES_HE + ROLES_SHE)}"

    def person(self):
        return self.new(lambda: self.pick(self.people) if self.chance(20) else self.some_role())

    def where(self):
        preposition, place = self.place if self.chance(25) else self.pick(PLACES)
        return f"{preposition} the {place}"

    def nature(self):
        return self.new(lambda: f"the {self.pick(NATURE)[0]}")

    def state(self):
        return self.pick(self.pick([MOODS, QUALITIES]))

    # Clauses, without capital and full stop.

    def happened(self):
        who = self.pick(["I", "we", "you", self.pronoun, self.person(), self.person()])
        kind = self.random.below(3)
        if kind == 0:
            return f"{who} {self.pick(THING_VERBS)[2]} {self.topic()}{self.pick(['', ' ' + self.where()])}"
        if kind == 1:
            return f"{who} {self.pick(PERSON_VERBS)[2]} {self.person()} {self.pick(PAST)}"
        return f"{who} {self.pick(PLAIN_VERBS)[2]} {self.pick([self.where(), self.pick(MANNER)])}"

    def happens(self):
        who = self.pick([self.pronoun, self.person(), self.person()])
        kind = self.random.below(3)
        if kind == 0:
            return f"{who} {self.pick(THING_VERBS)[1]} {self.topic()}"
        if kind == 1:
            return f"{who} {self.pick(PERSON_VERBS)[1]} {self.person()}"
        return f"{who} {self.pick(PLAIN_VERBS)[1]} {self.where()}"

    def will_happen(self):
        who = self.pick(["I", "we", "you", "they", self.person()])
        will = self.pick(["will", "shall", "must", "may", "will not", "cannot"])
        kind = self.random.below(3)
        if kind == 0:
            return f"{who} {will} {self.pick(THING_VERBS)[0]} {self.topic()}"
        if kind == 1:
            return f"{who} {will} {self.pick(PERSON_VERBS)[0]} {self.person()}"
        return f"{who} {will} {self.pick(PLAIN_VERBS)[0]} {self.where()}"

    def nature_is(self):
        return f"{self.nature()} is {self.pick(NATURE_STATES)}"

    def person_is(self):
        who = self.pick(["I am", "you are", f"{self.pronoun} is", "we are", f"{self.person()} is"])
        return f"{who} {self.pick(['', 'too ', 'never ', 'always ', 'not '])}{self.state()}"

    def when(self):
        noun, verb = self.new(lambda: self.pick(NATURE))
        return f"{self.pick(['when', 'if', 'before', 'until', 'after'])} the {noun} {verb}"

    # Whole sentences.

    def statement(self):
        first, second = self.random.sample(PLAIN_VERBS, 2)
        return self.pick([
            lambda: sentence(self.happened()),
            lambda: sentence(self.happened()),
            lambda: sentence(self.happens()),
            lambda: sentence(f"{self.will_happen()} {self.pick(FUTURE)}"),
            lambda: sentence(f"{self.when()}, {self.will_happen()}"),
            lambda: sentence(f"{self.will_happen()} {self.when()}"),
            lambda: sentence(f"{self.nature_is()}, {self.pick(['but', 'and', 'for'])} {self.person_is()}"),
            lambda: sentence(f"{self.nature_is()}; {self.nature_is()}"),
            lambda: sentence(self.person_is()),
            lambda: sentence(f"I do not {self.pick(PERSON_VERBS)[0]} {self.person()}"),
            lambda: sentence(f"{self.pick(['they say', 'I know', 'I fear', 'you think'])} that "
                             f"{self.happens()}"),
            lambda: sentence(f"I dreamed that {self.happened()}"),
            lambda: sentence(f"it is better to {first[0]} than to {second[0]}"),
            lambda: sentence(f"{self.pick(ABSTRACT)} is {article(self.pick(NATURE_STATES))} "
                             f"{self.pick(['road', 'river', 'fire', 'winter', 'song', 'house', 'guest'])}"),
            lambda: sentence(f"there is {article(self.pick(THING_ADJECTIVES))} {self.pick(THINGS)} "
                             f"{self.where()}"),
            lambda: sentence(f"{self.person()} is as {self.pick(QUALITIES)} as {self.person()}"),
            lambda: f"The letter says, \"{self.command()}\"",
        ])()

    def command(self):
        return self.pick([
            lambda: sentence(f"{self.pick(['bring', 'give', 'show', 'sell'])} me {self.topic()}"),
            lambda: sentence(f"do not {self.pick(THING_VERBS)[0]} {self.topic()}"),
            lambda: sentence(f"let us {self.pick(PLAIN_VERBS)[0]} {self.where()}"),
            lambda: sentence(f"come {self.pick(['to', 'from'])} the {self.pick(PLACES)[1]} "
                             f"{self.pick(FUTURE)}"),
            lambda: sentence(f"go to the {self.pick(PLACES)[1]} and {self.pick(PLAIN_VERBS)[0]}"),
            lambda: sentence(f"{self.pick(PERSON_VERBS)[0]} {self.person()} {self.when()}"),
        ])()

    def exclamation(self):
        return self.pick([
            lambda: sentence(f"what {article(self.pick(NATURE_STATES))} {self.pick(NATURE)[0]}", "!"),
            lambda: sentence(f"how {self.state()} {self.person()} is", "!"),
            lambda: f"{self.pick(CALLS)}, {self.topic()}!",
            lambda: f"{self.pick(CALLS)}, {self.person_is()}!",
            lambda: sentence(f"my {self.pick(['heart', 'house', 'name', 'hand', 'voice'])} is "
                             f"{self.pick(NATURE_STATES)}", "!"),
        ])()

    def question_and_answer(self, other):
        """What one asks and another answers."""
        verb, thing = self.pick(THING_VERBS), self.topic()
        person, plain, shared = self.person(), self.pick(PLAIN_VERBS), self.pick(SHARED_VERBS)
        known = self.pick(PERSON_VERBS)
        return self.pick([
            lambda: (f"Where is {thing}, {other}?",
                     self.pick([f"It is {self.where()}.", f"I left it {self.where()}.",
                                f"Ask {self.person()}.", "I cannot say."])),
            lambda: (f"Who {verb[2]} {thing}?",
                     sentence(f"{self.person()} {verb[2]} it {self.pick(PAST)}")),
            lambda: (f"Did you {verb[0]} {thing}, {other}?",
                     self.pick([f"Yes, I {verb[2]} it {self.where()}.", f"No, I have not {verb[3]} it.",
                                f"I never {verb[2]} it.", "Why do you ask?"])),
            lambda: (f"Have you {known[3]} {person}?",
                     self.pick([f"I have {known[3]} nobody.", f"Yes, {self.pick(PAST)}.",
                                f"I {known[2]} {self.person()} {self.pick(PAST)}."])),
            lambda: (f"Will you {shared[0]} with me, {other}?",
                     self.pick([f"I will {shared[0]} {self.pick(FUTURE)}.", f"Yes, {self.when()}.",
                                f"No, I am too {self.pick(MOODS)}."])),
            lambda: (f"Why do you {plain[0]}, {other}?",
                     self.pick([f"Because I am {self.pick(MOODS)}.", f"Because {self.nature_is()}."])),
            lambda: (f"What did {person} say?", sentence(f"that {self.will_happen()}")),
            lambda: (f"Is {person} {self.state()}?",
                     f"{self.pick(['Yes, and', 'No, but'])} {self.person_is()}."),
        ])()

    # The scene.

    def speech(self, speaker, opening=None):
        lines = [opening] if opening else []
        for _ in range(self.pick([0, 1, 1, 2]) if opening else self.pick([1, 1, 2, 2, 3])):
            kind = self.random.below(10)
            self.mention(speaker)
            lines.append(self.statement() if kind < 6 else self.command() if kind < 8 else self.exclamation())
        return lines

    def mention(self, *people):
        """Begins a sentence that shall not name these."""
        self.mentioned = set(people)

    def direction(self):
        self.mention()
        who = self.pick(self.people)
        pronoun = "He" if who in MEN else "She"
        first, second = self.random.sample(PLAIN_VERBS, 2)
        return self.pick([
            lambda: f"[{self.pick(NOISES)}.]",
            lambda: f"[{self.pick(NOISES)}.]",
            lambda: f"[{who.upper()} {self.pick(THING_VERBS)[1]} {self.topic()}.]",
            lambda: f"[{who.upper()} {first[1]}. {pronoun} {second[1]}.]",
        ])()

    def text(self):
        """Blocks of lines, with a blank line after each."""
        time = self.pick(["At dawn", "At noon", "Evening", "Night", "Midnight", "A cold morning"])
        names = [name.upper() for name in self.people]
        blocks = [[f"[The {self.place[1]}. {time}. Enter {listed(names)}.]"]]
        speaker, answer = self.pick(self.people), None
        for left in reversed(range(8 + self.random.below(9))):
            others = [name for name in self.people if name != speaker]
            other = self.pick(others)
            lines = self.speech(speaker, answer)
            answer = None
            if left > 0 and self.chance(45):
                self.mention(speaker, other)
                question, answer = self.question_and_answer(other)
                lines = lines[:2] + [question]
            blocks.append([f"{speaker.upper()}:"] + lines)
            if answer is None and self.chance(12):
                blocks.append([self.direction()])
            speaker = other
        blocks.append(["[Exeunt.]"])
        return "".join("\n".join(block) + "\n\n" for block in blocks)


def make_scenes():
    """Whole scenes, until the text is long enough; exactly the characters that the tests expect."""
    random = Random(SEED)
    text = ""
    while len(text) < SCENES_BYTES:
        text += Scene(random).text()
    return text[:-1]


# ---- Names ----

ONSETS = ("b b br c ch d d dr f f g gr h h j j k k l l l m m m n n p ph qu r r r s s s sh st t t th tr v v w "
          "x y z").split()
OPENINGS = "al am ar el em er il in is ol or ul".split()
VOWELS = "a a a a e e e e i i i o o u".split()
LONG_VOWELS = "ae ai ea ei ia ie io au".split()
MIDDLES = "b d d d f g j k l l l l ll m m m n n n n nn r r r r rr s s t t th v v v x z".split()
JOINTS = "ld lm lv mb nd nt rd rl rn rv ss st".split()
ENDS = ("a a a a ah an ar ara as e el ella en ena eth etta i ia ian ie iel il in ina io is ith o on or ora "
        "os ric us y yn yra").split()
SHORT_ENDS = "l l n n n r s m d th x ra la na do mi ko".split()
# Syllables that read badly.
AVOIDED = "anal anus cum fag nig ped penan sata sex tit".split()


def make_name(random):
    """An onset and a vowel, up to two more syllables, an end."""
    if random.below(8) == 0:
        name = random.pick(OPENINGS) + random.pick(VOWELS)
    else:
        name = random.pick(ONSETS) + random.pick(LONG_VOWELS if random.below(7) == 0 else VOWELS)
    if random.below(10) == 0:
        return name + random.pick(SHORT_ENDS)
    for _ in range(random.pick([0, 0, 0, 1, 1, 2])):
        name += random.pick(MIDDLES) + random.pick(VOWELS)
    return name + random.pick(JOINTS if random.below(5) == 0 else MIDDLES) + random.pick(ENDS)


def make_names():
    """Different names of 3 to 11 letters, sorted."""
    random = Random(SEED + 1)
    names = set()
    while len(names) < NAMES:
        name = make_name(random)
        if 3 <= len(name) <= 11 and not any(part in name for part in AVOIDED):
            names.add(name)
    return "\n".join(sorted(names)) + "\n"


def main(arguments):
    if arguments in (["-h"], ["--help"]):
        print(__doc__.strip())
        return 0
    is_check = arguments[:1] == ["--check"]
    if len(arguments) != 1 + is_check or arguments[-1].startswith("-"):
        print("make_corpus.py: expected one folder, or --check and a folder; see --help", file=sys.stderr)
        return 2
    folder = pathlib.Path(arguments[-1])
    result = 0
    for name, text in (("scenes.txt", make_scenes()), ("names.txt", make_names())):
        content = text.encode("ascii")
        if not is_check:
            (folder / name).write_bytes(content)
        elif not (folder / name).is_file() or (folder / name).read_bytes() != content:
            print(f"{folder / name} is not what tools/make_corpus.py makes; run it again or undo the change")
            result = 1
    return result


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
