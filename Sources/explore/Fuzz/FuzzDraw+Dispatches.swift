import DispatchStore

// Dispatches, with what their stores, hooks and completions do.
extension FuzzDraw {
  /// Nil if the budget is spent.
  mutating func newDispatch(_ context: FuzzContext) -> Int? {
    guard budget > 0 else { return nil }
    budget -= 1
    let number = program.dispatches.count
    // A dispatch that its maker waits for, in a program without rings.
    let isWaitedFor = program.isTame && context.isInsideDispatch
    let isInGroup = context.groupDispatcher != nil
    let dispatcher = context.groupDispatcher ?? below(program.dispatchers.count)
    var plan = FuzzProgram.DispatchPlan(dispatcher: dispatcher, mode: mode(context))
    plan.isInGroup = isInGroup
    if program.isExtended, case .lane = plan.mode, chance(1, in: 3) { plan.mode = .lanes }
    // A group's steps run on threads, and in tasks.
    if isInGroup, plan.mode == .sync || plan.mode == .main { plan.mode = .async }
    plan.isMadeInSection = context.kind == .section
    plan.isOutsideNotifications = context.isOutsideNotifications
    let stores = program.stores.indices.filter { program.stores[$0].dispatcher == dispatcher }
    if chance(2, in: 5), !stores.isEmpty { plan.target = pick(stores) }
    if number > 0, !isInGroup, chance(1, in: 4), !(isWaitedFor && plan.mode == .sync) {
      plan.after = (0...below(2)).map { _ in below(number) }
    }
    plan.isSequence = !isInGroup && chance(1, in: 10)
    plan.continuesOnFailure = chance(1, in: 2)
    plan.controls = controls(isWaitedFor: isWaitedFor, holdsQueue: context.holdsQueue)
    program.dispatches.append(plan)
    for _ in 0..<(plan.isSequence ? below(4) : 1) {
      let action = program.actions.count
      program.actions.append(.init(dispatch: number))
      plan.actions.append(action)
      for store in plan.target.map({ [$0] }) ?? stores {
        let answer = answer(program.stores[store].kind, context, isAlone: isWaitedFor)
        program.actions[action].answers[store] = answer
        drawHooks(action, store, dispatcher, context)
      }
    }
    if program.effects[dispatcher] != nil, chance(1, in: 3) {
      var effect = context.inner(.root(isTask: true))
      effect.isFree = false
      plan.effect = body(effect)
    }
    plan.completion =
      switch isInGroup ? 0 : below(4) {
      case 0: .none
      case 1: .result(body(context.inner(.completion)))
      default: .plain(body(context.inner(.completion)))
      }
    program.dispatches[number] = plan
    return number
  }

  private mutating func mode(_ context: FuzzContext) -> FuzzProgram.DispatchPlan.Mode {
    switch below(context.mayOnlyEnqueue ? 9 : 13) {
    case 0..<3: .async
    case 3..<5: .serial
    case 5..<8: .lane(below(2))
    case 8: .main
    default: .sync
    }
  }

  /// - Parameter isAlone: Whether its operation may depend on no other dispatch's.
  private mutating func answer(
    _ store: FuzzProgram.StorePlan.Kind, _ context: FuzzContext, isAlone: Bool
  ) -> FuzzProgram.Answer {
    let isAsync = context.isTaskCancelled && store == .operates
    let choice = isAsync ? 9 : below(store == .operates ? 10 : store == .applies ? 3 : 2)
    if store == .applies || (store == .operates && choice == 2) {
      if choice > 0 { return .init(kind: .application, body: body(context.inner(.block))) }
    }
    if choice < 3 {
      return .init(
        kind: chance(1, in: 8) ? .noChange : .reduction, body: body(context.inner(.section)))
    }
    var answer: FuzzProgram.Answer
    switch choice {
    case 3..<5: answer = .init(kind: .block, body: body(context.inner(.block)))
    case 5..<7:
      let end: FuzzProgram.Answer.CallbackEnd =
        pick([.finish, .finish, .finish, .fail, .drop, .finishInside])
      answer = .init(
        kind: .callback(
          commits: below(3), ending: end, then: body(context.inner(.root(isTask: false)))),
        body: body(context.inner(.block)))
    default: answer = .init(kind: .async, body: body(context.inner(.asyncBlock)))
    }
    answer.dependsOnForeign = chance(1, in: 6)
    if !isAlone, !program.isTame, chance(1, in: 4) {
      let other = below(program.actions.count)
      // No ring is looked for that goes through a limit: if code of the other one waits for a unit that this dispatch
      // has, neither ends.
      if !program.limits.contains(where: { $0.overflow == .wait }) { answer.dependsOn = [other] }
    }
    return answer
  }

  private mutating func drawHooks(
    _ action: Int, _ store: Int, _ dispatcher: Int, _ context: FuzzContext
  ) {
    for middleware in 0..<program.middlewareCounts[dispatcher] where chance(1, in: 4) {
      var hook = FuzzProgram.HookPlan()
      hook.verdict = pick([.pass, .pass, .pass, .replace, .replace, .veto, .fail])
      // Not on a thread that has to resume the queue: it could wait for what is queued there.
      if chance(1, in: 2), context.kind != .suspended {
        hook.will = body(context.inner(.hook))
      }
      if chance(1, in: 2) { hook.did = body(context.inner(.hook)) }
      hook.didFails = chance(1, in: 8)
      let place = FuzzProgram.HookPlace(middleware: middleware, action: action, store: store)
      program.hooks[place] = hook
    }
  }
}
