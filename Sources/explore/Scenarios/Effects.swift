import DispatchStore
import DispatchStoreTesting

extension Scenario {
  /// Effects that dispatch, in each mode, with policies, failures and cancellations.
  static let effects = Scenario(
    name: "effects",
    summary: "what follows an action has ended where it is settled, by the policies of effects"
  ) { dispatcher, simulation in
    let store = dispatcher.makeJournal("journal")
    let modes: [Dispatcher.Mode] = [.async, .serial, .mainThread, .serial(lane: "a"), .sync]
    let counts = Shared((begun: 0, ended: 0))
    let trees = Shared([0, 0, 0, 0])
    let overlaps = Shared((running: [0, 0], most: 0))
    dispatcher.onWarning { _ in }
    dispatcher.registerBranches(in: modes, counts, trees)
    dispatcher.registerTurns(overlaps)
    let held = dispatcher.register(
      effect: Effect(Hold.self, policy: .latest) { _, context in
        context.dispatch(Entry.hold(9), to: "journal", mode: .serial(lane: "b"))
        try await simulation.clock.sleep(for: .seconds(3_600))
      })
    let ticks = Shared(0)
    let token = dispatcher.register(
      effect: .longLived(restart: .onFailure(limit: 2, backoff: .constant(.seconds(1)))) {
        context in
        let tick = ticks.add(1)
        await context.send(Entry.note(100 + tick), to: "journal")
        if tick < 3 { throw Refused() }
        try await simulation.clock.sleep(for: .seconds(3_600))
      }
    ).token()
    try await withThrowingTaskGroup { group in
      for tree in 0..<3 {
        group.addTask {
          let branch = Branch(tree: tree, depth: 2)
          let handle = dispatcher.dispatch(action: branch, mode: modes[(tree + 1) % modes.count])
          await handle.settled()
          let count = trees.now[tree]
          try check(count == 7, "tree \(tree) is settled with \(count) runs")
        }
      }
      group.addTask {
        // Cancelled at some time, as a whole.
        let handle = dispatcher.dispatch(action: Branch(tree: 3, depth: 2), mode: .serial)
        try? await simulation.delay(upTo: .milliseconds(1))
        handle.cancelWithEffects()
        await handle.settled()
        let count = trees.now[3]
        try await simulation.clock.sleep(for: .seconds(1))
        try check(trees.now[3] == count, "a run has gone on after the settling")
      }
      for key in 0..<2 {
        for number in 0..<2 {
          group.addTask {
            await dispatcher.dispatch(
              action: Turn(key: key), mode: modes[(key + number) % 3]
            ).settled()
          }
        }
      }
      group.addTask {
        let holds = (0..<2).map { _ in dispatcher.dispatch(action: Hold(), mode: .async) }
        for hold in holds { await hold.ended() }
        held.cancel()
        for hold in holds { await hold.settled() }
        try check(held.runCount == 0, "a run has gone on after its cancellation")
      }
      try await group.waitForAll()
    }
    try check(overlaps.now.most == 1, "runs of one key have overlapped")
    let slow = store.model.entries.filter { $0 < 2 }
    try check(slow.sorted() == [0, 0, 1, 1], "\(slow)")
    let clock = simulation.clock
    try await clock.sleep(for: .seconds(10))
    try check(ticks.now == 3, "the long-lived effect has begun \(ticks.now) times")
    withExtendedLifetime(token) {}
    try check(await dispatcher.drain().isComplete, "not drained")
    try check(counts.now.begun == counts.now.ended, "\(counts.now) after the drain")
    try check(clock.now.offset < .seconds(3_600), "what was cancelled has not ended")
  }
}

/// Leads to two of the depth below.
private struct Branch: ActionType {
  let tree: Int
  let depth: Int
}

private struct Turn: ActionType {
  let key: Int
}

private struct Hold: ActionType {}

extension Dispatcher {
  /// Registers an effect that leads from each branch to two of the depth below.
  fileprivate func registerBranches(
    in modes: [Mode], _ counts: Shared<(begun: Int, ended: Int)>, _ trees: Shared<[Int]>
  ) {
    register(
      effect: Effect(Branch.self) { branch, context in
        counts.with { $0.begun += 1 }
        if branch.depth > 0 {
          let next = Branch(tree: branch.tree, depth: branch.depth - 1)
          let mode = modes[(branch.tree + branch.depth) % modes.count]
          context.dispatch(next, mode: mode)
          await context.send(next, mode: .serial(lane: "a"))
        }
        trees.with { $0[branch.tree] += 1 }
        counts.with { $0.ended += 1 }
        if branch.depth == 1 { throw Refused() }
      })
  }

  /// Registers an effect whose runs of one key do not overlap.
  fileprivate func registerTurns(_ overlaps: Shared<(running: [Int], most: Int)>) {
    register(
      effect: Effect(Turn.self, policy: .serial, per: { $0.key }) { turn, context in
        overlaps.with { overlaps in
          overlaps.running[turn.key] += 1
          overlaps.most = max(overlaps.most, overlaps.running[turn.key])
        }
        await context.send(Entry.slow(turn.key), to: "journal")
        overlaps.with { $0.running[turn.key] -= 1 }
      })
  }
}
