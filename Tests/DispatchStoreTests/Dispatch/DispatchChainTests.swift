import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

/// Chains of dispatches, each of which is made by the one before it.
@Suite("Chains of dispatches", .timeLimit(.minutes(10)))
struct DispatchChainTests {
  /// By what a dispatch makes the next one.
  enum Link: CaseIterable {
    case apply, block, asyncBlock, effect, completion, hook, observer
  }

  static let modes: [Dispatcher.Mode] = [.async, .serial, .mainThread, .serial(lane: "chain")]

  let clock = VirtualClock()
  let dispatcher: Dispatcher
  let links = Links()

  init() {
    dispatcher = Dispatcher(clock: clock)
    dispatcher.addStage()
    dispatcher.addDesk()
  }

  /// Dispatches that may be gone.
  final class Links: @unchecked Sendable {  // because the lock guards what changes
    private struct Weak {
      weak var details: DispatchDetails?
    }

    private let lock = NSLock()
    private var all: [Weak] = []

    func add(_ handle: DispatchHandle) {
      guard let details = handle.dispatch?.makeDetails() else { return }
      lock.withLock { all.append(Weak(details: details)) }
    }

    /// One after the other may have used the same details.
    var aliveCount: Int {
      lock.withLock { Set(all.compactMap(\.details).map(ObjectIdentifier.init)).count }
    }
  }

  /// Begins a chain; the last link, which is in flight, calls the closure.
  private func begin(
    _ link: Link, _ mode: Dispatcher.Mode, count: Int, _ last: @escaping @Sendable () -> Void
  ) -> Any? {
    let (dispatcher, links, left) = (dispatcher, links, EventCount(of: count))
    // The next one, made where this one is called.
    @Sendable func next(_ action: @autoclosure () -> some ActionType) {
      if left.add() >= count { return last() }
      links.add(dispatcher.dispatch(action: action(), mode: mode))
    }
    @Sendable func applies() -> Errand { Errand { _ in next(applies()) } }
    @Sendable func runs() -> Script { .runs { _ in next(runs()) } }
    @Sendable func suspends() -> Script {
      .suspends { _ in
        await Task.yield()
        next(suspends())
      }
    }
    @Sendable func completes() {
      if left.add() >= count { return last() }
      links.add(dispatcher.dispatch(action: Errand.adds(""), mode: mode, then: completes))
    }
    let clears = Errand { desk in desk.updateModel { $0 = [] } }
    switch link {
    case .apply: next(applies())
    case .block: next(runs())
    case .asyncBlock: next(suspends())
    case .completion: completes()
    case .effect:
      dispatcher.register(effect: Effect(Cue.self) { _, _ in next(Cue()) })
      next(Cue())
    case .hook:
      dispatcher.register(
        middleware: RecordingMiddleware(did: { _, action, _ in next(action as! Errand) }))
      next(clears)
    case .observer:
      let desk = dispatcher.store(with: "desk") as! Desk
      let token = desk.observe(.model) { _ in next(clears) }
      next(clears)
      return token
    }
    return nil
  }

  @Test(arguments: Link.allCases, modes)
  func anEndlessChainLeavesNothingBehind(_ link: Link, _ mode: Dispatcher.Mode) async {
    let (links, end, alive) = (links, Latch(), Recorder<Int>())
    let kept = begin(link, mode, count: Load.count(1_500, long: 5_000)) {
      alive.record(links.aliveCount)
      end.open()
    }
    await end.opened()
    // Those of the last moments.
    #expect(alive.all[0] < 100, "\(link) \(mode)")
    withExtendedLifetime(kept) {}
  }

  /// Whoever waits for a job that hangs, and gives up, must not stay in memory with it.
  @Test(arguments: [Dispatcher.Mode.async, .serial, .mainThread, .serial(lane: "chain")])
  func whatIsCancelledWhileItWaitsForAnotherLeavesNothingBehind(_ mode: Dispatcher.Mode) async {
    let free = Latch()
    let held = dispatcher.dispatch(
      action: Script.suspends { _ in await free.opened() }, mode: .serial(lane: "held"))
    for _ in 0..<Load.count(2_000) {
      let waiting = dispatcher.dispatch(
        action: Errand.adds("late"), mode: mode, options: .after(held))
      links.add(waiting)
      waiting.cancel()
      await waiting.ended()
    }
    let last = dispatcher.dispatch(
      action: Errand.adds("last"), mode: mode, options: .after(held))
    #expect(links.aliveCount < 100, "\(mode)")
    free.open()
    #expect(await last.result.isSuccess)
    #expect((dispatcher.store(with: "desk") as! Desk).model == ["last"])
  }

  /// A block that begins something, and goes on until it is cancelled, or the latch opens.
  private func holds(until free: Latch, _ body: @escaping @Sendable () -> Void) -> Script {
    .suspends { _ in
      body()
      await free.openedOrCancelled()
      try Task.checkCancellation()
    }
  }

  enum Ending: CaseIterable {
    case cancelled, timedOut, cancelledWithEffects
  }

  /// All links but the last have ended.
  @Test(arguments: [Link.apply, .block, .asyncBlock], Ending.allCases)
  func aLongChainEndsWithTheBlockThatBeganIt(_ link: Link, _ ending: Ending) async {
    let (links, last, handles) = (links, Latch(), Recorder<DispatchHandle>())
    let (dispatcher, free) = (dispatcher, Latch())
    let script = holds(until: Latch()) {
      _ = begin(link, .serial(lane: "chain"), count: Load.count(1_500, long: 20_000)) {
        handles.record(
          dispatcher.dispatch(
            action: holds(until: free) { last.open() }, mode: .serial(lane: "last")))
      }
    }
    let outer = dispatcher.dispatch(
      action: script, mode: .serial(lane: "outer"),
      options: ending == .timedOut ? .timeout(.seconds(5)) : .after())
    await last.opened()
    #expect(links.aliveCount < 100)
    switch ending {
    case .cancelled: outer.cancel()
    case .cancelledWithEffects: outer.cancelWithEffects()
    case .timedOut:
      await clock.pass(.seconds(5))
    }
    let result = await handles.first(1)[0].result
    #expect(!result.isSuccess)
    await outer.settled()
    #expect(!(await outer.result.isSuccess))
  }

  /// Each block waits while the next one runs.
  @Test(arguments: Ending.allCases)
  func aDeepOneOfBlocksInFlightEndsWithTheFirst(_ ending: Ending) async {
    let count = Load.count(3_000, long: 10_000)
    let (dispatcher, began, ended) = (dispatcher, EventCount(of: count), EventCount(of: count))
    let last = Latch()
    @Sendable func link() -> Script {
      .suspends { _ in
        if began.add() < count {
          dispatcher.dispatch(action: link(), mode: .serial(lane: began.count)) {
            ended.add()
          }
        } else {
          last.open()
        }
        await Latch().openedOrCancelled()
      }
    }
    let outer = dispatcher.dispatch(
      action: link(), mode: .serial(lane: "outer"),
      options: ending == .timedOut ? .timeout(.seconds(5)) : .after()
    ) { ended.add() }
    await last.opened()
    switch ending {
    case .cancelled: outer.cancel()
    case .cancelledWithEffects: outer.cancelWithEffects()
    case .timedOut:
      await clock.pass(.seconds(5))
    }
    await ended.full()
    await outer.settled()
  }

  /// A program that keeps all handles, and drops them while the last link is in flight.
  @Test func whatHandlesKeepGoesWithThem() async {
    let (links, last, free, dispatcher) = (links, Latch(), Latch(), dispatcher)
    let count = Load.count(10_000)
    let (made, left) = (Recorder<DispatchHandle>(), EventCount(of: count))
    @Sendable func link() -> Errand {
      Errand { _ in
        let isLast = left.add() == count
        let handle =
          isLast
          ? dispatcher.dispatch(action: holds(until: free) { last.open() })
          : dispatcher.dispatch(action: link(), mode: .serial)
        links.add(handle)
        made.record(handle)
      }
    }
    dispatcher.dispatch(action: link(), mode: .serial)
    await last.opened()
    _ = await made.first(count)
    var handles = made.removeAll()
    await handles[count - 2].ended()
    #expect(links.aliveCount == count)
    let settled = Latch()
    let first = handles[0]
    Task {
      await first.settled()
      settled.open()
    }
    let lastHandle = handles[count - 1]
    handles = []
    #expect(links.aliveCount < 100)
    #expect(!settled.isOpen)
    // It reaches what the kept handle's dispatch has led to.
    first.cancelWithEffects()
    await settled.opened()
    #expect(!(await lastHandle.result.isSuccess))
  }

  // MARK: What nests

  /// Each wait is recorded once, however deep it is.
  @Test(arguments: [10, 400])
  func whatABlockAwaitsIsRecordedWithThatBlockAlone(_ depth: Int) async {
    let (dispatcher, last, free) = (dispatcher, Latch(), Latch())
    @Sendable func link(_ depth: Int) -> Script {
      .suspends { _ in
        if depth > 0 {
          await dispatcher.send(link(depth - 1), to: "stage")
        } else {
          last.open()
          await free.opened()
        }
      }
    }
    let outer = dispatcher.dispatch(
      storeIdentifier: "stage", action: link(depth), mode: .serial(lane: "outer"))
    await last.opened()
    #expect(outer.dispatch.map { WaitGraph.waits(of: $0).count } == 1)
    free.open()
    #expect(await outer.result.isSuccess)
  }
}
