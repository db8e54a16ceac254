import DispatchStore
import DispatchStoreTesting

extension Scenario {
  /// Chains of dispatches made by blocks, whose links end while what began them is cancelled.
  static let families = Scenario(
    name: "families",
    summary: "a cancellation and a settling reach the last link of a chain whose others have ended"
  ) { dispatcher, simulation in
    _ = dispatcher.makeJournal("journal")
    let last = Shared([Int: DispatchHandle]())
    let modes: [Dispatcher.Mode] = [.async, .serial, .serial(lane: "a"), .mainThread]
    dispatcher.makeStore("links", of: Link.self) { action, store in
      ActionOperation(action: action, store: store) { link, store async throws in
        guard let dispatcher = store.dispatcher else { return }
        if link.left == 0 {
          let held = dispatcher.dispatch(
            storeIdentifier: "journal", action: Entry.hold(link.chain))
          last[link.chain] = held
        } else {
          let next = Link(chain: link.chain, left: link.left - 1, isFirst: false)
          dispatcher.dispatch(action: next, mode: modes[(link.chain + link.left) % 4])
        }
        if link.isFirst { try await simulation.clock.sleep(for: .seconds(3_600)) }
      }
    }
    dispatcher.register(
      effect: Effect(Link.self, runsRegardless: true) { link, context in
        guard link.chain > 1 else { return }
        context.dispatch(Entry.slow(link.chain), to: "journal", mode: .serial(lane: "a"))
      })
    let clock = simulation.clock
    let chains = (0..<4).map { chain in
      dispatcher.dispatch(
        action: Link(chain: chain, left: 4, isFirst: true), mode: .serial(lane: chain))
    }
    // The handle of this chain is kept, too, and the chain ends by itself.
    let ended = dispatcher.dispatch(action: Link(chain: 4, left: 3, isFirst: false))
    simulation.startThread { chains[0].cancel() }
    simulation.startThread { chains[2].cancel() }
    for handle in [chains[1], chains[3], ended] {
      simulation.startThread { handle.cancelWithEffects() }
    }
    for (chain, handle) in (chains + [ended]).enumerated() {
      await handle.ended()
      // The handle may have come before the last link.
      if chain == 4 { handle.cancelWithEffects() }
      await handle.settled()
      guard let held = last[chain] else { continue }
      try check(held.hasEnded, "chain \(chain) is settled before its last link has ended")
      try check(await !held.result.isSuccess, "the last link of chain \(chain) was not cancelled")
    }
    try check(clock.now.offset < .seconds(3_600), "a cancellation was lost")
  }
}

/// Dispatches the next link from its block, and at last an entry that holds; the first one runs until it is cancelled.
private struct Link: ActionType {
  let chain: Int
  let left: Int
  let isFirst: Bool
}
