package org.torchlet.examples.classification;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;

import android.graphics.drawable.BitmapDrawable;
import android.widget.ImageView;
import android.widget.TextView;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.robolectric.Robolectric;
import org.robolectric.RobolectricTestRunner;
import org.robolectric.annotation.Config;

/** The app of ../android on Robolectric's Android: its own manifest, layout and assets. */
@RunWith(RobolectricTestRunner.class)
@Config(sdk = 33)
public class MainActivityTest {
  @Test
  public void showsThePictureAndItsClass() {
    MainActivity activity = Robolectric.buildActivity(MainActivity.class).setup().get();
    assertFalse(activity.isFinishing());
    ImageView view = (ImageView) activity.findViewById(R.id.image);
    assertEquals(128, ((BitmapDrawable) view.getDrawable()).getBitmap().getWidth());
    TextView text = (TextView) activity.findViewById(R.id.text);
    assertEquals("seven, 100.0 %", text.getText().toString());
  }
}
