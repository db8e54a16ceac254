import DispatchStoreTesting

extension HistoryRecorder where Operation == Register.Operation, Response == Register.Response {
  /// A linearizable history of a register and eight processes, made of instants within operations.
  ///
  /// - Parameter wrongRead: From which operation on, in the order of the instants, reads are wrong.
  static func history(
    of count: Int, seed: UInt64, wrongRead: Int = .max
  ) -> History<Operation, Response> {
    var generator = SeededGenerator(seed: seed)
    var spans: [(instant: Int, call: Int, end: Int, process: Int)] = []
    for process in 0..<8 {
      var time = Int.random(in: 0..<50, using: &generator)
      for _ in 0..<count / 8 {
        let end = time + Int.random(in: 10..<200, using: &generator)
        spans.append((Int.random(in: time...end, using: &generator), time, end, process))
        time = end + Int.random(in: 1..<20, using: &generator)
      }
    }
    spans.sort { $0.instant < $1.instant }
    var value = 0
    return History(
      spans.enumerated().map { place, span in
        let isRead = Bool.random(using: &generator)
        if !isRead { value = Int.random(in: 1..<10, using: &generator) }
        return RecordedOperation(
          process: "p\(span.process)", operation: isRead ? .read : .write(value),
          callStamp: span.call,
          returned: .init(
            stamp: span.end,
            response: isRead ? .value(place < wrongRead ? value : -1) : .done))
      })
  }
}
