package org.torchlet.examples.classification;

import android.app.Activity;
import android.graphics.Bitmap;
import android.graphics.BitmapFactory;
import android.os.Bundle;
import android.util.Log;
import android.widget.ImageView;
import android.widget.TextView;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.pytorch.IValue;
import org.pytorch.LiteModuleLoader;
import org.pytorch.MemoryFormat;
import org.pytorch.Module;
import org.pytorch.Tensor;
import org.pytorch.torchvision.TensorImageUtils;

/** Shows a picture and what it shows. */
public class MainActivity extends Activity {
  private static final String MODEL = "digits_mobilenet_v2.pt";
  private static final String LABELS = "digits_labels.txt";
  private static final String PICTURE = "samples/digit_7.png";

  @Override
  protected void onCreate(Bundle savedInstanceState) {
    super.onCreate(savedInstanceState);
    setContentView(R.layout.activity_main);

    try {
      Bitmap bitmap = readPicture(PICTURE);
      ((ImageView) findViewById(R.id.image)).setImageBitmap(bitmap);
      ((TextView) findViewById(R.id.text)).setText(classify(bitmap));
    } catch (IOException e) {
      Log.e("classification", "cannot read the assets", e);
      finish();
    }
  }

  /** The name of the best class, and its probability. */
  private String classify(Bitmap bitmap) throws IOException {
    Module module = LiteModuleLoader.loadModuleFromAsset(getAssets(), MODEL);
    Tensor input =
        TensorImageUtils.bitmapToFloat32Tensor(
            bitmap,
            TensorImageUtils.TORCHVISION_NORM_MEAN_RGB,
            TensorImageUtils.TORCHVISION_NORM_STD_RGB,
            MemoryFormat.CHANNELS_LAST);
    float[] scores = module.forward(IValue.from(input)).toTensor().getDataAsFloatArray();

    int best = 0;
    for (int i = 1; i < scores.length; i++) if (scores[i] > scores[best]) best = i;
    double sum = 0; // of exp(score), of which the softmax is a part
    for (float score : scores) sum += Math.exp(score - scores[best]);
    return String.format(Locale.ROOT, "%s, %.1f %%", readLines(LABELS).get(best), 100 / sum);
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
