package org.torchlet.examples.segmentation;

import android.app.Activity;
import android.graphics.Bitmap;
import android.graphics.BitmapFactory;
import android.os.Bundle;
import android.util.Log;
import android.widget.Button;
import android.widget.ImageView;
import android.widget.TextView;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.pytorch.IValue;
import org.pytorch.LiteModuleLoader;
import org.pytorch.Module;
import org.pytorch.Tensor;
import org.pytorch.torchvision.TensorImageUtils;

/** Shows a picture; at the push of a button, the things in it are coloured. */
public class MainActivity extends Activity implements Runnable {
  private static final String MODEL = "scenes_deeplabv3.ptl";
  private static final String LABELS = "scenes_labels.txt";
  private static final String PICTURE = "scenes/meadow.png";

  /** Of class 1, 2, ...; class 0 is the background and stays as it is. */
  private static final int[] COLOURS = {0x005aff, 0xff8c00, 0xff00c8, 0xffe600, 0x00dcff, 0xe60000, 0x00a03c, 0x7800dc};

  private static final String[] COLOUR_NAMES = {"blue", "orange", "magenta", "yellow", "cyan", "red", "green", "violet"};

  private Bitmap bitmap;
  private Module module;
  private List<String> labels;
  private ImageView imageView;
  private TextView legendView;
  private Button button;

  @Override
  protected void onCreate(Bundle savedInstanceState) {
    super.onCreate(savedInstanceState);
    setContentView(R.layout.activity_main);
    imageView = (ImageView) findViewById(R.id.image);
    legendView = (TextView) findViewById(R.id.legend);
    button = (Button) findViewById(R.id.segment);

    try {
      module = LiteModuleLoader.loadModuleFromAsset(getAssets(), MODEL);
      labels = readLines(LABELS);
      bitmap = readPicture(PICTURE);
    } catch (IOException e) {
      Log.e("segmentation", "cannot read the assets", e);
      finish();
      return;
    }
    imageView.setImageBitmap(bitmap);
    button.setOnClickListener(
        view -> {
          button.setEnabled(false);
          button.setText(R.string.segmenting);
          new Thread(this).start();
        });
  }

  /** Segments the picture, away from the thread of the user interface. */
  @Override
  public void run() {
    Tensor input =
        TensorImageUtils.bitmapToFloat32Tensor(
            bitmap,
            TensorImageUtils.TORCHVISION_NORM_MEAN_RGB,
            TensorImageUtils.TORCHVISION_NORM_STD_RGB);
    Map<String, IValue> answer = module.forward(IValue.from(input)).toDictStringKey();
    Tensor out = answer.get("out").toTensor(); // [1, classes, height, width]
    int[] classes = classMap(out.getDataAsFloatArray(), (int) out.shape()[1]);

    Bitmap overlay = draw(classes);
    String legend = legend(classes);
    runOnUiThread(
        () -> {
          imageView.setImageBitmap(overlay);
          legendView.setText(legend);
          button.setEnabled(true);
          button.setText(R.string.segment);
        });
  }

  /** The class of each pixel: the first of the highest scores. */
  private static int[] classMap(float[] scores, int classes) {
    int pixels = scores.length / classes;
    int[] map = new int[pixels];
    for (int i = 0; i < pixels; i++) {
      for (int c = 1; c < classes; c++) if (scores[c * pixels + i] > scores[map[i] * pixels + i]) map[i] = c;
    }
    return map;
  }

  /** Three parts of the class's colour to two of the picture. */
  private Bitmap draw(int[] classes) {
    int width = bitmap.getWidth(), height = bitmap.getHeight();
    int[] colours = new int[width * height];
    bitmap.getPixels(colours, 0, width, 0, 0, width, height);
    for (int i = 0; i < colours.length; i++) {
      if (classes[i] == 0) continue;
      int colour = COLOURS[(classes[i] - 1) % COLOURS.length], mixed = 0;
      for (int shift = 0; shift < 24; shift += 8) {
        mixed |= (2 * (colours[i] >> shift & 255) + 3 * (colour >> shift & 255)) / 5 << shift;
      }
      colours[i] = 0xff000000 | mixed;
    }
    Bitmap overlay = bitmap.copy(Bitmap.Config.ARGB_8888, true);
    overlay.setPixels(colours, 0, width, 0, 0, width, height);
    return overlay;
  }

  /** The classes that were found, each with its colour and its part of the picture. */
  private String legend(int[] classes) {
    int[] counts = new int[labels.size()];
    for (int c : classes) counts[c]++;
    StringBuilder text = new StringBuilder();
    for (int c = 1; c < counts.length; c++) {
      if (counts[c] == 0) continue;
      String colour = COLOUR_NAMES[(c - 1) % COLOUR_NAMES.length];
      text.append(String.format(Locale.ROOT, "%5.1f %%  %-8s %s\n", 100.0 * counts[c] / classes.length, colour, labels.get(c)));
    }
    return text.toString();
  }

  private Bitmap readPicture(String asset) throws IOException {
    try (InputStream stream = getAssets().open(asset)) {
      return BitmapFactory.decodeStream(stream);
    }
  }

  private List<String> readLines(String asset) throws IOException {
    try (BufferedReader reader = new BufferedReader(new InputStreamReader(getAssets().open(asset)))) {
      List<String> lines = new ArrayList<>();
      for (String line; (line = reader.readLine()) != null; ) lines.add(line);
      return lines;
    }
  }
}
