// Lists of statements, each fit for the code that it is for.
extension FuzzDraw {
  mutating func body(_ context: FuzzContext) -> FuzzProgram.Body {
    let place = program.bodies.count
    program.bodies.append([])
    let isRoot = context.depth == 0
    let length = isRoot ? 2 + below(5) : [0, 1, 1, 2, 3][below(5)]
    var made: [Int] = []
    var statements: [FuzzProgram.Statement] = []
    for _ in 0..<length {
      guard let statement = statement(context, &made) else { continue }
      statements.append(statement)
      if statement == .fail { break }
    }
    program.bodies[place] = statements
    return place
  }

  /// - Parameter made: The dispatches that the same list has made, for which its code may wait in any program.
  private mutating func statement(
    _ context: FuzzContext, _ made: inout [Int]
  ) -> FuzzProgram.Statement? {
    if context.mayOnlyEnqueue {
      let isGroup = program.isExtended && program.hasGroups && context.kind == .section
      return isGroup && chance(1, in: 5) ? group(context) : dispatch(context, &made)
    }
    if context.depth > 4 {
      return context.hasOwnStore ? .commitOwn(nil) : .commit(store: store(), nil)
    }
    if program.isExtended, chance(1, in: context.depth == 0 ? 2 : 6) { return extended(context) }
    switch below(context.isTaskCancelled ? 10 : program.hasGroups ? 26 : 24) {
    case 0..<10: return dispatch(context, &made)
    case 10, 11: return context.hasOwnStore ? .commitOwn(section(context)) : nil
    case 12: return .commit(store: store(), section(context))
    case 13..<16: return wait(context, made)
    case 16: return program.isControlled && chance(1, in: 2) ? control() : cancel()
    case 17: return .task(body(context.inner(.root(isTask: true))), isCancelled: false)
    case 18 where context.isAsync:
      return .children((0..<2).map { _ in body(context.inner(.child)) })
    case 19 where context.isAsync: return .yield
    case 20 where context.hasOwnStore && context.kind != .child: return .fail
    case 21: return rare(context)
    case 22: return cancelObserver(context)
    case 23:
      return .usersOperation(
        dispatcher: dispatcher(), body(context.inner(.root(isTask: false))))
    case 24...: return group(context)
    default: return nil
    }
  }

  private mutating func group(_ context: FuzzContext) -> FuzzProgram.Statement? {
    var inner = context
    inner.groupDispatcher = dispatcher()
    var group = FuzzProgram.GroupPlan(dispatcher: inner.groupDispatcher!, steps: [])
    // In a program without rings, code of a dispatch would have to wait for lanes.
    group.isSent =
      context.isAsync && !(program.isTame && context.isInsideDispatch) && chance(1, in: 2)
    for _ in 0..<below(4) {
      guard let step = newDispatch(inner) else { break }
      group.steps.append(step)
      if chance(1, in: 2), let undo = newDispatch(inner) { group.undos[step] = undo }
    }
    group.limit = chance(1, in: 2) ? below(3) + 1 : nil
    group.continues = chance(1, in: 4)
    group.isCancelled = !group.isSent && chance(1, in: 6)
    if program.isExtended {
      // Options that are not for groups have no effect.
      group.controls = controls(isWaitedFor: false, holdsQueue: context.holdsQueue)
      if !group.isSent { group.completion = body(context.inner(.completion)) }
    }
    program.groups.append(group)
    return .group(program.groups.count - 1)
  }

  mutating func store() -> Int { below(program.stores.count) }
  mutating func dispatcher() -> Int { below(program.dispatchers.count) }

  private mutating func section(_ context: FuzzContext) -> FuzzProgram.Body? {
    chance(1, in: 4) ? body(context.inner(.section)) : nil
  }

  private mutating func dispatch(
    _ context: FuzzContext, _ made: inout [Int]
  ) -> FuzzProgram.Statement? {
    guard let number = newDispatch(context) else { return nil }
    if context.isAsync, context.isTaskCancelled || chance(1, in: 2),
      maySend(program.dispatches[number], context)
    {
      program.dispatches[number].isSent = true
      return .send(number)
    }
    made.append(number)
    return .dispatch(number)
  }

  /// Not on the main queue, which a task reaches by the main actor, and that is not of a simulation.
  private func maySend(
    _ dispatch: FuzzProgram.DispatchPlan, _ context: FuzzContext
  ) -> Bool {
    if dispatch.mode == .sync || dispatch.mode == .main || dispatch.isSequence { return false }
    return !(program.isTame && context.isInsideDispatch) || isHarmlessToAwait(dispatch)
  }

  private mutating func wait(_ context: FuzzContext, _ made: [Int]) -> FuzzProgram.Statement? {
    guard context.isAsync, !program.dispatches.isEmpty else { return nil }
    guard program.isTame && context.isInsideDispatch else {
      return .await(below(program.dispatches.count))
    }
    let harmless = made.filter { isHarmlessToAwait(program.dispatches[$0]) }
    return harmless.isEmpty ? nil : .await(pick(harmless))
  }

  /// Whether it waits for nothing but what it makes, and needs neither a lane nor the main queue.
  private func isHarmlessToAwait(_ dispatch: FuzzProgram.DispatchPlan) -> Bool {
    guard dispatch.mode == .async || dispatch.mode == .sync, dispatch.after.isEmpty else {
      return false
    }
    return dispatch.actions.allSatisfy { action in
      program.actions[action].answers.values.allSatisfy(\.dependsOn.isEmpty)
    }
  }

  private mutating func cancel() -> FuzzProgram.Statement? {
    program.dispatches.isEmpty ? nil : .cancel(below(program.dispatches.count))
  }

  private mutating func control() -> FuzzProgram.Statement {
    chance(1, in: 2) ? .passTime : .cancelNamed(dispatcher: dispatcher(), below(2))
  }

  private mutating func cancelObserver(_ context: FuzzContext) -> FuzzProgram.Statement? {
    if case .observer(let place) = context.kind { return .cancelObserver(place) }
    return program.observers.isEmpty || !chance(1, in: 2)
      ? nil : .cancelObserver(below(program.observers.count))
  }

  private mutating func rare(_ context: FuzzContext) -> FuzzProgram.Statement? {
    switch below(4) {
    case 0:
      let store = store()
      return program.stores[store].isWeak ? .release(store: store) : nil
    case 1: return chance(1, in: 3) ? .unregister(store: store()) : nil
    case 2: return .setWidth(dispatcher: dispatcher(), below(3) + 1)
    default:
      guard context.depth == 0 else { return nil }
      return .suspended(dispatcher: dispatcher(), body(context.inner(.suspended)))
    }
  }
}
