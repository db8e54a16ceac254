// Cancelled tasks, ends of dispatchers, followers, and what happens to groups.
extension FuzzDraw {
  mutating func extended(_ context: FuzzContext) -> FuzzProgram.Statement? {
    switch below(7) {
    case 0..<3:
      var inner = context.inner(.root(isTask: true))
      inner.isTaskCancelled = true
      return .task(body(inner), isCancelled: true)
    case 3: return program.hasClosing ? end(context) : nil
    case 4: return .follow(store: store(), pick(FuzzProgram.Follower.allCases))
    default:
      if program.groups.isEmpty { return nil }
      let place = below(program.groups.count)
      // No ring is looked for that goes through a completion of a group.
      let mayWait =
        !context.isInsideDispatch
        || !program.isTame && program.bodies[program.groups[place].completion].isEmpty
      return context.isAsync && mayWait && chance(1, in: 2)
        ? .awaitGroup(place) : .cancelGroup(place)
    }
  }

  private mutating func end(_ context: FuzzContext) -> FuzzProgram.Statement {
    let dispatcher = dispatcher()
    switch below(6) {
    case 0: return .close(dispatcher: dispatcher)
    case 1: return .shutDown(dispatcher: dispatcher)
    case 2...3 where context.isFree && context.isAsync: return .awaitDrain(dispatcher: dispatcher)
    default: return .drain(dispatcher: dispatcher, milliseconds: [nil, nil, 0, 1, 4][below(5)])
    }
  }
}
