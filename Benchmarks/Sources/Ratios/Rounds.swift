import BenchmarkSupport

/// Measures a path and its floor alternately, so that a disturbance affects both.
enum Rounds {
  /// One sample a round: each side runs once, in changing order.
  ///
  /// The sides are functions of the number of actions to run: `count` of them, doubled for each side
  /// until it takes 10 ms, so that a single disturbance does not decide; its time is then divided by
  /// their number.
  static func alternate(
    _ rounds: Int, count: Int, floor: (Int) -> Void, subject: (Int) -> Void
  ) -> [Sample] {
    let floorCount = enough(count, floor)
    let subjectCount = enough(count, subject)
    return alternate(
      rounds,
      floor: { Stopwatch.nanoseconds { floor(floorCount) } / Double(floorCount) },
      subject: { Stopwatch.nanoseconds { subject(subjectCount) } / Double(subjectCount) })
  }

  /// How many actions of a side take 10 ms: `count`, or that doubled several times.
  static func enough(_ count: Int, _ side: (Int) -> Void) -> Int {
    var count = count
    while Stopwatch.nanoseconds({ side(count) }) < 10e6 { count *= 2 }
    return count
  }

  /// One sample a round: each side returns its time per action.
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
