#!/bin/sh
# Batch scoring on Apache Spark (docs/spark.md): the tests of examples/spark, then the rows per second of one job, as
# spark-submit runs it: on one and two executors, which are processes, and on one and two threads.
#
#   scripts/test_spark.sh              exits with 77 if Java, Maven or Spark's jars (Maven Central) cannot be had
#   COPIES=20 scripts/test_spark.sh    copies of the 53 rows for the rows per second (100)
set -eu
cd "$(dirname "$0")/.."
build=$PWD/build/spark
mkdir -p "$build"

maven() { # runs quietly, or tells all
  mvn --batch-mode "$@" >"$build/maven.log" 2>&1 || { cat "$build/maven.log" >&2 && return 1; }
}

scripts/install_deps.sh maven default-jdk-headless || exit 77
cmake --preset release --log-level=WARNING ${CMAKE_ARGS:-} >/dev/null
cmake --build --preset release --parallel "${JOBS:-$(nproc)}" --target torchlet_cli
scripts/build_java.sh
if ! maven -f examples/spark dependency:build-classpath -DincludeScope=provided -DexcludeGroupIds=org.torchlet -Dmdep.outputFile="$build/classpath"; then
  echo "test_spark: no org.apache.spark:spark-sql_2.13 from Maven Central" >&2
  exit 77
fi

maven -f examples/spark package -Dtorchlet.command="$PWD/build/release/torchlet"
grep '^.INFO. Tests run:' "$build/maven.log"

# What a Spark installation is to local-cluster, whose executors are processes of their own: a folder of jars.
export SPARK_HOME="$build/home" SPARK_SCALA_VERSION=2.13 SPARK_LOCAL_IP=127.0.0.1
rm -rf "$SPARK_HOME" && mkdir -p "$SPARK_HOME/jars"
classpath=$(cat "$build/classpath")
(IFS=: && ln -s $classpath "$SPARK_HOME/jars")
opens=$(sed -n 's/^ *\(-[-X].*ALL-UNNAMED\).*/\1/p' examples/spark/pom.xml)
log=-Dlog4j.configurationFile=$PWD/examples/spark/src/test/resources/log4j2-test.properties
jars=$(ls bindings/java/torchlet/target/torchlet-*[0-9].jar),$(ls "$build"/torchlet-spark-*[0-9].jar)

submit() { # master, class, arguments
  master=$1 class=$2 && shift 2
  java $opens "$log" -cp "$SPARK_HOME/jars/*" org.apache.spark.deploy.SparkSubmit --master "$master" \
    --conf spark.ui.enabled=false --conf spark.scheduler.minRegisteredResourcesRatio=1 \
    --class "org.torchlet.spark.$class" --jars "$jars" "$build"/torchlet-spark-*-tests.jar "$@"
}

score="--model models/digits_mobilenet_v2.pt --labels models/digits_labels.txt
  --input $build/pictures.parquet --column image --keep id,name --overwrite --output $build/scores"
submit 'local[2]' Samples make "$build/pictures.parquet" "${COPIES:-100}"
line=$(submit 'local-cluster[2,1,1024]' Score $score-cluster.parquet)
case "$line" in
*"loaded 2 time"*) ;;
*) echo "test_spark: two executors load the model twice, but: $line" >&2 && exit 1 ;;
esac
for master in 'local-cluster[1,1,1024]' 'local-cluster[2,1,1024]' 'local[1]' 'local[2]'; do
  echo "$master, and again:"
  submit "$master" Samples twice $score.parquet
done
submit 'local[2]' Samples same "$build/scores.parquet" "$build/scores-cluster.parquet"
