import DispatchStore
import Foundation
import Testing

/// In a queue of two threads, of which a user's wait blocks one.
@Suite("An operation that blocks its thread", .serialized, .timeLimit(.minutes(10)))
struct BlockedSlotTests {
  static let queuedModes: [Dispatcher.Mode] = [.async, .serial(lane: "blocked")]

  let dispatcher = Dispatcher(queue: .wide(2))
  let began = Latch()
  let released = Latch()

  init() {
    // Other tests block the system's threads of the default quality of service.
    dispatcher.queue.qualityOfService = .userInitiated
    dispatcher.addStage()
  }

  private var blocks: Script {
    .runs("blocks") { [began, released] _ in
      began.open()
      released.wait()
    }
  }

  @Test(arguments: queuedModes, [Dispatcher.Mode.async, .serial])
  func delaysNoOtherDispatch(_ blocked: Dispatcher.Mode, _ mode: Dispatcher.Mode) async {
    let total = Load.count(10_000)
    let others = EventCount(of: total)
    for _ in 0..<(total / 4) {
      dispatcher.dispatch(action: Script.runs { _ in }, mode: mode) { others.add() }
    }
    let blocking = dispatcher.dispatch(action: blocks, mode: blocked)
    for _ in (total / 4)..<total {
      dispatcher.dispatch(action: Script.runs { _ in }, mode: mode) { others.add() }
    }
    await others.full()
    await began.opened()
    #expect(!blocking.hasEnded)
    released.open()
    #expect(await blocking.result.isSuccess)
  }

  @Test(arguments: queuedModes, [Dispatcher.Mode.async, .serial])
  func delaysNothingThatTheSameActionDispatched(
    _ blocked: Dispatcher.Mode, _ mode: Dispatcher.Mode
  ) async {
    let (dispatcher, blocks, others) = (dispatcher, blocks, EventCount(of: 200))
    let handles = Recorder<DispatchHandle>()
    dispatcher.dispatch(
      action: Script.runs { _ in
        for index in 0..<200 {
          if index == 100 { handles.record(dispatcher.dispatch(action: blocks, mode: blocked)) }
          dispatcher.dispatch(action: Script.runs { _ in }, mode: mode) { others.add() }
        }
      }, mode: .async)
    await others.full()
    await began.opened()
    #expect(!handles.all[0].hasEnded)
    released.open()
    #expect(await handles.all[0].result.isSuccess)
  }

  @Test(arguments: queuedModes)
  func delaysNothingThatItsBlockDispatched(_ mode: Dispatcher.Mode) async {
    let (dispatcher, began, released) = (dispatcher, began, released)
    let others = EventCount(of: 200)
    let blocking = dispatcher.dispatch(
      action: Script.runs { _ in
        for lane in 0..<100 {
          dispatcher.dispatch(action: Script.runs { _ in }, mode: .async) { others.add() }
          dispatcher.dispatch(action: Script.runs { _ in }, mode: .serial(lane: lane)) {
            others.add()
          }
        }
        began.open()
        released.wait()
      }, mode: mode)
    await others.full()
    #expect(!blocking.hasEnded)
    released.open()
    #expect(await blocking.result.isSuccess)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func delaysNoOtherDispatchFromACompletionEither(_ mode: Dispatcher.Mode) async {
    let (dispatcher, began, released) = (dispatcher, began, released)
    let others = EventCount(of: 500)
    // On a new thread, because some modes block their caller; the main queue must not be blocked.
    let blocked: Dispatcher.Mode = mode == .mainThread ? .async : mode
    let blocking = Recorder<DispatchHandle>()
    Thread {
      blocking.record(
        dispatcher.dispatch(action: Script.runs { _ in }, mode: blocked) {
          began.open()
          released.wait()
        })
    }.start()
    await began.opened()
    for lane in 0..<500 {
      dispatcher.dispatch(action: Script.runs { _ in }, mode: .serial(lane: lane)) { others.add() }
    }
    await others.full()
    released.open()
    #expect(await blocking.first(1)[0].result.isSuccess)
  }
}
