import DispatchStore

// Checks that nothing begins after a cancellation, nor after the end of a dispatcher.
extension FuzzCheck {
  func checkCancellations() {
    for (number, times) in marks[.cancelReturned] ?? [:] { checkCancelled(number, since: times[0]) }
    for (place, times) in marks[.groupCancelled] ?? [:] {
      let steps = program.groups[place].limit == nil ? program.groups[place].steps : []
      for (step, next) in zip(steps, steps.dropFirst()) where isUnderWay(step, at: times[0]) {
        check(
          parts(of: next).allSatisfy(\.began.isEmpty),
          "#\(next) began, and group \(place) was cancelled before")
      }
    }
    for (body, times) in marks[.taskCancelled] ?? [:] {
      for number in program.made(by: body) where isCancelledWithTask(number) {
        checkCancelled(number, since: times[0], withTask: true)
      }
    }
  }

  /// Checks a dispatch that was cancelled by a time, unless it had ended, and those that its blocks make.
  ///
  /// - Parameter isWithTask: Whether its task was cancelled: at a step of the task it is cancelled itself, and what its
  ///   block has dispatched before.
  private func checkCancelled(_ number: Int, since time: Int, withTask isWithTask: Bool = false) {
    let actions = program.dispatches[number].actions
    for (place, action) in actions.enumerated() {
      for (store, plan) in program.stores.enumerated() where !plan.runsRegardless {
        let key = Part.Key(action: action, store: store)
        let former = actions[..<place].last
        for (attempt, began) in (parts[key]?.began ?? []).enumerated() where began > time {
          check(
            earliestStart(of: key, attempt, former, at: began, withTask: isWithTask) <= time,
            "\(name(key)) began, and was cancelled before")
        }
      }
    }
    let isUnderWay = isUnderWay(number, at: time)
    for child in children[number] ?? [] {
      guard let span = spans[child.number], let called = span.called else { continue }
      let isOfTask = isWithTask && isCancelledWithTask(child.number)
      let isMadeLater = called > time && (child.isOfAsyncBlock || !isWithTask)
      let isMadeBefore = isUnderWay && span.returned.map { $0 < time } == true
      if isMadeLater || isOfTask || isMadeBefore && !isWithTask {
        checkCancelled(child.number, since: time, withTask: isOfTask)
      }
    }
  }

  private func isCancelledWithTask(_ number: Int) -> Bool {
    program.dispatches[number].isSent && !program.dispatches[number].isDetached
  }

  private func isUnderWay(_ number: Int, at time: Int) -> Bool {
    parts(of: number).contains { ($0.ended + $0.threw).contains { $0 > time } }
  }

  /// A time before which nobody can have decided to begin an attempt.
  ///
  /// - Parameters:
  ///   - former: The action before its own in a sequence.
  ///   - isWithTask: Whether that depends on its task, which decides when it sends the dispatch.
  private func earliestStart(
    of key: Part.Key, _ attempt: Int, _ former: Int?, at began: Int, withTask isWithTask: Bool
  ) -> Int {
    let number = program.actions[key.action].dispatch
    let plan = program.dispatches[number]
    var times = [spans[number]?.called ?? -1]
    if isWithTask { return times[0] }
    if attempt > 0, let part = parts[key] { times.append((part.ended + part.threw)[attempt - 1]) }
    var before = program.stores[key.store].waitFor.map { Part.Key(action: key.action, store: $0) }
    if let former { before += program.stores.indices.map { Part.Key(action: former, store: $0) } }
    times += before.flatMap { (parts[$0]?.ended ?? []) + (parts[$0]?.threw ?? []) }
    for (other, otherPlan) in program.dispatches.enumerated()
    where other != number && otherPlan.dispatcher == plan.dispatcher {
      if plan.lanes.contains(where: otherPlan.lanes.contains) {
        times += parts(of: other).flatMap { $0.ended + $0.threw }
      }
    }
    return times.filter { $0 < began }.max() ?? -1
  }

  func checkEnds() {
    for (dispatcher, times) in marks[.drained] ?? [:] { checkDrained(dispatcher, at: times[0]) }
    let (outside, all) = (program.madeOutside, Array(program.dispatches.indices))
    for (place, times) in marks[.closed] ?? [:] { checkRefused(outside, place, since: times[0]) }
    for (place, times) in marks[.shutDown] ?? [:] { checkRefused(all, place, since: times[0]) }
  }

  private func checkRefused(_ numbers: [Int], _ dispatcher: Int, since time: Int) {
    for number in numbers where program.dispatches[number].dispatcher == dispatcher {
      guard let called = spans[number]?.called, called > time else { continue }
      check(
        parts(of: number).allSatisfy(\.began.isEmpty),
        "#\(number) was accepted by d\(dispatcher), which was closed")
    }
  }

  private func checkDrained(_ dispatcher: Int, at time: Int) {
    for (number, plan) in program.dispatches.enumerated() where plan.dispatcher == dispatcher {
      var times = parts(of: number).flatMap { $0.began + [$0.last ?? -1] }
      // A dispatch that was not accepted may complete later.
      if !parts(of: number).allSatisfy(\.began.isEmpty) {
        times += (spans[number]?.completed ?? []) + (marks[.unended]?[number] ?? [])
      }
      times += plan.actions.flatMap { marks[.effect]?[$0] ?? [] }
      check(
        times.allSatisfy { $0 < time },
        "#\(number) was under way although d\(dispatcher) was drained")
    }
    // A group that runs nothing may end later: it was refused, or is empty. Of a sent one no end is noted.
    for (place, plan) in program.groups.enumerated() where plan.dispatcher == dispatcher {
      let hasRun = !plan.steps.flatMap(parts(of:)).allSatisfy(\.began.isEmpty)
      check(
        !hasRun || (marks[.groupEnded]?[place] ?? []).allSatisfy { $0 < time },
        "group \(place) was under way although d\(dispatcher) was drained")
    }
  }
}
