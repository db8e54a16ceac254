extension History {
  /// Checks whether the history is linearizable: see `SequentialSpecification`.
  ///
  /// Runs on the caller's thread. A few hundred operations of eight processes take milliseconds, or some tenths of a
  /// second if they are not linearizable. The worst case is exponential in the number of overlapping operations. For
  /// a history of several objects, `check(by:maxSteps:against:)` is faster.
  ///
  /// - Parameters:
  ///   - specification: The object's responses to operations that come one after the other.
  ///   - maxSteps: The number of applied operations after which to give up. A step takes some microseconds. It may
  ///     store a state until the end of the check, and a bit for each operation that overlaps others.
  public func check<Specification: SequentialSpecification>(
    against specification: Specification, maxSteps: Int = 1_000_000
  ) -> HistoryVerdict<Specification>
  where Specification.Operation == Operation, Specification.Response == Response {
    check(against: specification, object: nil, maxSteps: maxSteps)
  }

  /// Checks whether the history is linearizable, object by object.
  ///
  /// It relies on the theorem of locality (Herlihy and Wing, 1990), used for checking by Horn and Kroening, "Faster
  /// linearizability checking via P-compositionality", 2015. The verdict is that of the whole history. A witness is
  /// of the first object that has one.
  ///
  /// - Parameters:
  ///   - object: Returns the object that an operation concerns.
  ///   - maxSteps: For each object, the number of applied operations after which to give up.
  ///   - specification: Returns the specification of an object.
  public func check<Object: Hashable, Specification: SequentialSpecification>(
    by object: (Operation) -> Object, maxSteps: Int = 1_000_000,
    against specification: (Object) -> Specification
  ) -> HistoryVerdict<Specification>
  where Specification.Operation == Operation, Specification.Response == Response {
    var orders: [[RecordedOperation<Operation, Response>]] = []
    var undecided: HistoryVerdict<Specification>?
    for (object, part) in split(by: object) {
      let verdict = part.check(
        against: specification(object), object: "\(object)", maxSteps: maxSteps)
      switch verdict {
      case .linearizable(let order): orders.append(order)
      case .notLinearizable: return verdict
      case .undecided: undecided = verdict
      }
    }
    return undecided ?? .linearizable(order: History.merge(orders))
  }

  private func check<Specification: SequentialSpecification>(
    against specification: Specification, object: String?, maxSteps: Int
  ) -> HistoryVerdict<Specification>
  where Specification.Operation == Operation, Specification.Response == Response {
    var search = LinearizationSearch(specification, operations)
    switch search.run(maxSteps: maxSteps) {
    case .found: return .linearizable(order: search.found.map { operations[$0] })
    case .undecided: return .undecided(afterSteps: search.steps)
    case .exhausted:
      return .notLinearizable(
        shortestWitness(search, against: specification, object: object, maxSteps: maxSteps))
    }
  }

  /// Returns the witness of the shortest prefix that is not linearizable.
  ///
  /// Prefixes of a linearizable history are linearizable, so a binary search finds it. The prefix includes the
  /// returns that the search of the whole could pass, and mostly ends at the return that stopped that search. An
  /// undecided prefix counts as linearizable.
  private func shortestWitness<Specification: SequentialSpecification>(
    _ whole: LinearizationSearch<Specification>, against specification: Specification,
    object: String?, maxSteps: Int
  ) -> HistoryWitness<Specification>
  where Specification.Operation == Operation, Specification.Response == Response {
    let ends = operations.compactMap { $0.returned?.stamp }.filter { $0 >= whole.barrier }.sorted()
    var (low, high) = (0, ends.count - 1)
    var (shortest, longest) = (self, whole.longest)
    var middle = 0
    while low <= high {
      let prefix = prefix(through: ends[middle])
      var search = LinearizationSearch(specification, prefix.operations)
      if case .exhausted = search.run(maxSteps: maxSteps) {
        (shortest, longest) = (prefix, search.longest)
        high = middle - 1
      } else {
        low = middle + 1
      }
      middle = (low + high) / 2
    }
    return HistoryWitness(specification, shortest, longest: longest, object: object)
  }

  /// Merges the legal orders of a history's objects into one of the whole history.
  ///
  /// Each operation takes effect at the latest call among itself and the operations before it in its object's order.
  /// That is not before its own call. It is not after its return either, because none of those was called after that.
  private static func merge(
    _ orders: [[RecordedOperation<Operation, Response>]]
  ) -> [RecordedOperation<Operation, Response>] {
    var points: [(stamp: Int, part: Int, index: Int)] = []
    for (part, order) in orders.enumerated() {
      var stamp = Int.min
      for (index, operation) in order.enumerated() {
        stamp = max(stamp, operation.callStamp)
        points.append((stamp, part, index))
      }
    }
    return points.sorted(by: <).map { orders[$0.part][$0.index] }
  }
}
