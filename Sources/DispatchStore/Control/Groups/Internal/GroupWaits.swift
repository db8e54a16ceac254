/// The running dispatches of a group and the waits for its end, without threads.
struct GroupWaits {
  /// A step, or the compensation of one.
  private enum Running {
    /// A thread makes the dispatch, and cancels it then if told so.
    ///
    /// Can become known or endedEarly.
    case beginning(isCancelled: Bool)
    /// The dispatch has ended before that thread kept its handle: the thread continues from the result.
    case endedEarly(DispatchResult)
    case known(DispatchHandle)
  }

  /// The closures that wait for a change.
  struct Changes {
    fileprivate var bodies: [@Sendable () -> Void] = []

    /// Calls them, without the lock.
    func resume() {
      for body in bodies { body() }
    }
  }

  /// The call; nil once the group has ended.
  private(set) var call: GroupCall?
  /// The group's stand-in, from its beginning until it has ended.
  var unit: GroupUnit?
  private var running: [Int: Running] = [:]
  private var compensating: Set<Int> = []
  /// Steps in the order in which they began; the first ones may have ended.
  private var began = FIFO<Int>()
  /// Whether all steps have ended, and only the completion is left.
  private var isEnding = false
  private(set) var result: ActionGroupResult?
  private var atEnd: [@Sendable (ActionGroupResult) -> Void] = []
  private var atChange: [@Sendable () -> Void] = []
  /// The number of changes for which a task in a dispatch may have waited.
  private var changeCount = 0

  init(_ call: GroupCall) { self.call = call }

  // MARK: Steps

  mutating func begin(_ step: Int, isCompensation: Bool) {
    running[step] = .beginning(isCancelled: false)
    if isCompensation { compensating.insert(step) }
    began.append(step)
  }

  enum Keep {
    case runs(Changes, isCancelled: Bool)
    case ended(DispatchResult)
  }

  /// Keeps the handle, for the thread that has made the dispatch and asked for its end, too.
  mutating func keep(_ handle: DispatchHandle, of step: Int) -> Keep {
    switch running[step] {
    case .beginning(let isCancelled):
      running[step] = .known(handle)
      return .runs(takeChanges(), isCancelled: isCancelled && !isPlanted(.lostGroupCancel))
    case .endedEarly(let result):
      forget(step)
      return .ended(result)
    case .known, nil:
      return .runs(Changes(), isCancelled: false)
    }
  }

  /// Ends a step.
  ///
  /// Returns whether the thread that makes its dispatch continues from there.
  mutating func end(_ step: Int, _ result: DispatchResult) -> (isLeft: Bool, Changes) {
    if case .beginning = running[step] {
      running[step] = isPlanted(.lostStepEnd) ? .beginning(isCancelled: false) : .endedEarly(result)
      return (true, Changes())
    }
    return (false, end(step))
  }

  /// Ends a step, for the thread that continues the group.
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
    defer { atChange = [] }
    return Changes(bodies: atChange)
  }

  /// The handles of the steps that run among these elements, but for compensations.
  mutating func cancel(_ elements: Range<Int>) -> [DispatchHandle] {
    // In order, since a dictionary's order differs in each process.
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

  /// Notes that nothing but the completion is left, for which blocks wait from now on.
  mutating func beginEnd() -> Changes {
    isEnding = true
    return takeChanges()
  }

  /// Publishes the result, before those that drain the dispatcher go on.
  mutating func publish(_ result: ActionGroupResult) { self.result = result }

  /// Ends the group, whose result is published.
  ///
  /// Returns the closures that wait for the end.
  mutating func finish(_ result: ActionGroupResult) -> Changes {
    (call, unit) = (nil, nil)
    let bodies = atEnd.map { body -> (@Sendable () -> Void) in { body(result) } }
    atEnd = []
    return Changes(bodies: bodies + takeChanges().bodies)
  }

  /// Keeps a closure for the end.
  ///
  /// Returns the result, and keeps nothing, if the group has ended.
  mutating func await(
    _ body: @escaping @Sendable (ActionGroupResult) -> Void
  ) -> ActionGroupResult? {
    if result == nil { atEnd.append(body) }
    return result
  }

  enum Awaited {
    case nothing(ActionGroupResult)
    /// A dispatch on which the end depends: a step, or the group's own, which ends after the completion.
    case dispatch(DispatchHandle)
    /// The next change: the end, or a change of the running steps.
    case change(after: Int)
  }

  /// The next event for which a task in a dispatch is to wait.
  mutating func toAwait() -> Awaited {
    if let result { return .nothing(result) }
    if isEnding, let handle = unit?.handle { return .dispatch(handle) }
    while let step = began.first {
      switch running[step] {
      case .known(let handle) where !handle.hasEnded: return .dispatch(handle)
      case .known, .beginning, .endedEarly: return .change(after: changeCount)
      case nil: _ = began.popFirst()
      }
    }
    return .change(after: changeCount)
  }

  /// Keeps a closure for the next change; false if something has changed meanwhile.
  mutating func await(_ body: @escaping @Sendable () -> Void, after seen: Int) -> Bool {
    if seen == changeCount { atChange.append(body) }
    return seen == changeCount
  }
}
