import pytest
from pydantic import ValidationError

from treetext.models import LevelSettings, ModelSettings, models


def test_wrong_levels():
    with pytest.raises(ValidationError, match=r"pooling: root needs trees .*, not attention simple"):
        LevelSettings(attention="simple", pooling="root")
    with pytest.raises(ValidationError, match="gated: not with the activation product"):
        LevelSettings(activation="product", gated=True)
    with pytest.raises(ValidationError, match="temperature"):
        LevelSettings(temperature=0)


@pytest.mark.parametrize("kind", models())
def test_settings_are_closed_and_fixed(kind):
    settings = models()[kind].Settings
    assert issubclass(settings, ModelSettings)
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        settings(qqqq=1)
    with pytest.raises(ValidationError):
        settings(kind="something else")
    with pytest.raises(ValidationError, match="frozen"):
        settings().kind = "majority"
    assert isinstance(settings().has_trees, bool)
