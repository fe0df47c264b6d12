package org.torchlet.examples.segmentation;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import android.graphics.Bitmap;
import android.graphics.drawable.BitmapDrawable;
import android.widget.Button;
import android.widget.ImageView;
import android.widget.TextView;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.robolectric.Robolectric;
import org.robolectric.RobolectricTestRunner;
import org.robolectric.annotation.Config;
import org.robolectric.shadows.ShadowLooper;
import org.torchlet.examples.Answers;

/** The app of ../android on Robolectric's Android: its own manifest, layout and assets. */
@RunWith(RobolectricTestRunner.class)
@Config(sdk = 33)
public class MainActivityTest {
  @Test
  public void coloursThingsAtThePushOfTheButton() throws Exception {
    MainActivity activity = Robolectric.buildActivity(MainActivity.class).setup().get();
    ImageView view = (ImageView) activity.findViewById(R.id.image);
    Button button = (Button) activity.findViewById(R.id.segment);
    TextView legend = (TextView) activity.findViewById(R.id.legend);
    assertFalse(activity.isFinishing());
    assertEquals("Segment", button.getText().toString());

    button.performClick();
    assertFalse(button.isEnabled());
    for (long end = System.nanoTime() + 60_000_000_000L; !button.isEnabled() && System.nanoTime() < end; Thread.sleep(10)) {
      ShadowLooper.idleMainLooper();
    }
    assertTrue("the model did not answer within a minute", button.isEnabled());
    assertEquals("Segment", button.getText().toString());

    Bitmap shown = ((BitmapDrawable) view.getDrawable()).getBitmap();
    int[] colours = new int[shown.getWidth() * shown.getHeight()];
    shown.getPixels(colours, 0, shown.getWidth(), 0, 0, shown.getWidth(), shown.getHeight());
    assertTrue(Answers.agreement("meadow", colours) >= 0.999);
    assertTrue(legend.getText().toString(), legend.getText().toString().contains("%  magenta  fruit"));
  }
}
