"""English sentences of the tests' own, long enough for 200 tokens."""

STORY = (
    "The harbour was quiet when the last ferry came in. Two men in grey "
    "coats carried a wooden box down the ramp, set it on the quay and looked "
    "at it as if it might speak. Nobody had told them what was inside. The "
    "letter only said that it had to be on the island before midnight, that "
    "it weighed 41 kilograms, and that it must never be turned over. Ingrid "
    "watched them from the window of the customs office. She had worked there "
    "for nineteen years; in all that time she had opened 12,408 boxes, and "
    "only three of them had frightened her. This one, she thought, would be "
    "the fourth. She put on her gloves, finished her tea and went outside. "
    '"Good evening," she said. "You will need form C-7, a stamp from the '
    'lighthouse and, I am afraid, a great deal of patience." The older man '
    "sighed. He had expected rain, perhaps a dog, but not paperwork. Behind "
    "him the ferry blew its horn, turned slowly in the dark water and left "
    "without waiting for an answer. For a while they stood there and listened "
    "to the waves, and then the box began, very softly, to hum."
)
