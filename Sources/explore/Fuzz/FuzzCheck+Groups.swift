import DispatchStore

// Groups, and what undoes them; effects.
extension FuzzCheck {
  func checkGroups() {
    for (place, result) in run.present.now.groups.sorted(by: { $0.key < $1.key }) {
      let plan = program.groups[place]
      check(
        result.steps.count == plan.steps.count, "group \(place) has \(result.steps.count) results")
      for (number, step) in zip(plan.steps, result.steps) { check(step, number, result, place) }
      let isSuccess = result.steps.allSatisfy(\.outcome.isFinished)
      let mayBeRefused = plan.steps.isEmpty && (!plan.controls.isEmpty || program.hasClosing)
      check(result.isSuccess == isSuccess || mayBeRefused, "group \(place) ended with \(result)")
      check(plan.steps, "group \(place)", atMost: plan.limit ?? 1)
      let undos = result.compensated.map { step in
        plan.undos.first {
          $0.value == Int(step.callSite.line) || $0.key == Int(step.callSite.line)
        }!
        .value
      }
      check(undos, "what undoes group \(place)", atMost: 1)
      let last = plan.steps.flatMap(parts(of:)).compactMap(\.last).max() ?? -1
      let first = undos.flatMap(parts(of:)).compactMap(\.began.first).min()
      check(first ?? last + 1 > last, "group \(place) was undone before its steps had ended")
    }
  }

  private func check(
    _ step: ActionStepResult, _ number: Int, _ group: ActionGroupResult, _ place: Int
  ) {
    let plan = program.groups[place]
    if step.outcome.isSkipped {
      check(
        parts(of: number).allSatisfy(\.began.isEmpty), "#\(number), skipped in a group, has run")
    }
    let isUndone = step.compensation != nil
    if isUndone {
      check(
        step.outcome.isFinished && !group.isSuccess && plan.undos[number] != nil,
        "#\(number) was undone in group \(place), which ended as \(group)")
    } else if !plan.continues, !group.isSuccess, step.outcome.isFinished {
      check(plan.undos[number] == nil, "#\(number) was not undone in group \(place): \(group)")
    }
    if let undo = plan.undos[number], !isUndone {
      check(parts(of: undo).allSatisfy(\.began.isEmpty), "#\(undo) ran, and undoes nothing")
    }
    // Nothing of a program closes a dispatcher, and no cancellation reaches what undoes. The part of a store that is gone
    // counts as cancelled.
    if let error = step.compensation?.error, !program.isControlled, !program.removesStores {
      check(!(error is CancellationError), "what undoes #\(number) was cancelled")
    }
  }

  /// An effect follows an action once at most; a success that it can't miss, exactly once.
  func checkEffects() {
    let runs = run.present.now.effectRuns
    for (action, count) in runs {
      check(count == 1, "the effect of action \(action) ran \(count) times")
    }
    for (number, handle) in run.present.now.handles {
      let plan = program.dispatches[number]
      guard program.effects[plan.dispatcher]?.policy == .concurrent, !plan.isSequence,
        handle.resultIfEnded?.isSuccess == true, !isJoined(number), !hasTimeLimit(number),
        marks[.shutDown]?[plan.dispatcher] == nil
      else { continue }
      check(runs[plan.actions[0]] == 1, "no effect has followed #\(number)")
    }
  }

  /// Whether a dispatch may have joined another one, and run nothing itself.
  func isJoined(_ number: Int) -> Bool {
    guard let join = idempotencyKey(number) else { return false }
    return parts(of: number).allSatisfy(\.began.isEmpty)
      && program.dispatches.indices.contains {
        $0 != number
          && program.dispatches[$0].dispatcher == program.dispatches[number].dispatcher
          && program.dispatches[$0].controls.contains(join)
      }
  }

  /// Whether a dispatch has an idempotency key, by which it is atomic if it only reduces.
  func isKeyed(_ number: Int) -> Bool { idempotencyKey(number) != nil }

  private func idempotencyKey(_ number: Int) -> FuzzProgram.Control? {
    program.dispatches[number].controls.first {
      if case .idempotencyKey = $0 { true } else { false }
    }
  }

  /// How often a store may run an action.
  func attempts(_ dispatch: Int) -> Int {
    for case .retry(let attempts, _) in program.dispatches[dispatch].controls { return attempts }
    return 1
  }
}
