"""Shows the `Call arguments:` of Keras' docstrings as a list of arguments."""

import re

import griffe

_HEADING = re.compile("^Call arguments:$", re.MULTILINE)


class CallArguments(griffe.Extension):
    """Gives them a heading that griffe knows, with their own title."""

    def on_instance(self, *, obj: griffe.Object, **kwargs):
        if obj.docstring is not None:
            obj.docstring.value = _HEADING.sub(
                "Other Parameters: Call arguments", obj.docstring.value
            )
