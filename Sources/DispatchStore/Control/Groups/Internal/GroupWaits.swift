/// The dispatches of a group that run, and what waits for its end, without threads.
struct GroupWaits {
  /// A step, or the compensation of one.
  private enum Running {
    /// A thread makes its dispatch; whether that is to be cancelled then. Can become known or endedEarly.
    case beginning(isCancelled: Bool)
    /// It has ended before that thread kept its handle: the thread goes on from the result.
    case endedEarly(DispatchResult)
    case known(DispatchHandle)
  }

  /// Tasks that wait for a change.
  struct Changes {
    fileprivate var tasks: [UnsafeContinuation<Void, Never>] = []
    fileprivate var bodies: [() -> Void] = []

    /// To be called without the lock.
    func resume() {
      for body in bodies { body() }
      for task in tasks { task.resume() }
    }
  }

  /// Set when the group begins.
  var unit: GroupUnit?
  private var running: [Int: Running] = [:]
  private var compensating: Set<Int> = []
  /// In the order in which they began, those of which the first may have ended.
  private var began = FIFO<Int>()
  private(set) var result: ActionGroupResult?
  private var atEnd: [@Sendable (ActionGroupResult) -> Void] = []
  private var awaitingEnd: [UnsafeContinuation<Void, Never>] = []
  private var awaitingChange: [UnsafeContinuation<Void, Never>] = []
  /// How often something has changed for which a task in a dispatch waits.
  private var changeCount = 0

  // MARK: Steps

  mutating func begin(_ step: Int, isCompensation: Bool) {
    running[step] = .beginning(isCancelled: false)
    if isCompensation { compensating.insert(step) }
    began.append(step)
  }

  enum Keep {
    case runs(Changes)
    case isCancelled(Changes)
    case ended(DispatchResult)
  }

  /// The thread that has made its dispatch has called for the end, too.
  mutating func keep(_ handle: DispatchHandle, of step: Int) -> Keep {
    switch running[step] {
    case .beginning(let isCancelled):
      running[step] = .known(handle)
      return isCancelled && !isPlanted(.lostGroupCancel)
        ? .isCancelled(takeChanges()) : .runs(takeChanges())
    case .endedEarly(let result):
      forget(step)
      return .ended(result)
    case .known, nil:
      return .runs(Changes())
    }
  }

  /// It has ended; whether the thread that makes its dispatch goes on from there.
  mutating func end(_ step: Int, _ result: DispatchResult) -> (isLeft: Bool, Changes) {
    if case .beginning = running[step] {
      running[step] = isPlanted(.lostStepEnd) ? .beginning(isCancelled: false) : .endedEarly(result)
      return (true, Changes())
    }
    return (false, end(step))
  }

  /// It has ended, for the thread that goes on.
  mutating func end(_ step: Int) -> Changes {
    forget(step)
    return takeChanges()
  }

  private mutating func forget(_ step: Int) {
    running[step] = nil
    compensating.remove(step)
  }

  private mutating func takeChanges() -> Changes {
    changeCount += 1
    defer { awaitingChange = [] }
    return Changes(tasks: awaitingChange)
  }

  /// The handles of those that run among these elements, but for compensations.
  mutating func cancel(_ elements: Range<Int>) -> [DispatchHandle] {
    // In order, since a dictionary has another one in each process.
    let steps =
      elements.count < running.count
      ? Array(elements) : running.keys.filter(elements.contains).sorted()
    return steps.filter { !compensating.contains($0) }.compactMap { step in
      switch running[step] {
      case .known(let handle): return handle
      case .beginning:
        running[step] = .beginning(isCancelled: true)
        return nil
      case .endedEarly, nil: return nil
      }
    }
  }

  // MARK: The end

  /// Those that wait for the end.
  mutating func finish(_ result: ActionGroupResult) -> Changes {
    self.result = result
    changeCount += 1
    let bodies = atEnd.map { body in { body(result) } }
    defer { (atEnd, awaitingEnd, awaitingChange) = ([], [], []) }
    return Changes(tasks: awaitingEnd + awaitingChange, bodies: bodies)
  }

  /// Keeps a closure for the end; the result, and nothing kept, where it has ended.
  mutating func await(
    _ body: @escaping @Sendable (ActionGroupResult) -> Void
  ) -> ActionGroupResult? {
    if result == nil { atEnd.append(body) }
    return result
  }

  enum Awaited {
    case nothing(ActionGroupResult)
    /// A dispatch on which the end depends.
    case step(DispatchHandle)
    /// What changes next: the end, or, in a dispatch, also what runs.
    case change(after: Int)
  }

  /// What a task is to wait for next.
  mutating func toAwait(isInDispatch: Bool) -> Awaited {
    if let result { return .nothing(result) }
    guard isInDispatch else { return .change(after: changeCount) }
    while let step = began.first {
      switch running[step] {
      case .known(let handle) where !handle.hasEnded: return .step(handle)
      case .known, .beginning, .endedEarly: return .change(after: changeCount)
      case nil: _ = began.popFirst()
      }
    }
    return .change(after: changeCount)
  }

  /// Whether the task is kept; false where something has changed meanwhile.
  mutating func await(
    _ task: UnsafeContinuation<Void, Never>, after seen: Int, isInDispatch: Bool
  ) -> Bool {
    guard isInDispatch else {
      if result == nil { awaitingEnd.append(task) }
      return result == nil
    }
    if seen == changeCount { awaitingChange.append(task) }
    return seen == changeCount
  }
}
