import BenchmarkSupport

/// Measures a path and its floor by turns, so that what disturbs one disturbs the other.
enum Rounds {
  /// One sample a round: each side runs once, in changing order, and its time is divided by `count`.
  ///
  /// The sides are functions of the number of actions to run.
  static func alternate(
    _ rounds: Int, count: Int, floor: (Int) -> Void, subject: (Int) -> Void
  ) -> [Sample] {
    alternate(
      rounds,
      floor: { Stopwatch.nanoseconds { floor(count) } / Double(count) },
      subject: { Stopwatch.nanoseconds { subject(count) } / Double(count) })
  }

  /// One sample a round: each side tells what an action took it.
  static func alternate(
    _ rounds: Int, floor: () -> Double, subject: () -> Double
  ) -> [Sample] {
    var samples: [Sample] = []
    for round in 0...rounds {
      let sample: Sample
      if round.isMultiple(of: 2) {
        let floor = floor()
        sample = Sample(subject: subject(), floor: floor)
      } else {
        let subject = subject()
        sample = Sample(subject: subject, floor: floor())
      }
      // The first round warms up.
      if round > 0 { samples.append(sample) }
    }
    return samples
  }
}
