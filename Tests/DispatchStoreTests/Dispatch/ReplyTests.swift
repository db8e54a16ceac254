import DispatchStore
import DispatchStoreTesting
import Foundation
import Testing

/// What a store found out reaches who dispatched, with its type.
@Suite("Replies", .timeLimit(.minutes(10)))
struct ReplyTests {
  /// A question whose answer is its number and the store's.
  struct Question: ActionType {
    typealias Reply = String
    var number = 1
    var way: Way
  }

  enum Way: CaseIterable, Sendable {
    case reducing, applying, returning, suspending, callback, silent, failing
    static let replying: [Way] = [.reducing, .applying, .returning, .suspending, .callback]
  }

  typealias Desk = Store<Int, Question>

  private class ReducingReducer: Reducer<Int, Question> {
    override func reduce(into model: inout Int, action: Question) throws {
      model += action.number
      if action.way != .silent { reply("\(model)") }
      if action.way == .failing { throw StageFright() }
    }
  }

  private final class ApplyingReducer: ReducingReducer {
    override func apply(_ action: Question, to store: Desk) throws {
      let model = store.updateModel { model in
        model += action.number
        return model
      }
      reply("\(model)")
    }
  }

  private final class OperatingReducer: ReducingReducer {
    override func operation(for action: Question, in store: Desk) -> ActionOperation<Int, Question>
    {
      switch action.way {
      case .suspending:
        ActionOperation(action: action, store: store) { action, store async in
          await Task.yield()
          store.updateModel { $0 += action.number }
          return "\(store.model)"
        }
      case .callback:
        ActionOperation(action: action, store: store) { operation, action, _ in
          DispatchQueue.global().async {
            let model = operation.updateModel { model in
              model += action.number
              return model
            }
            operation.finish(with: "\(model ?? 0)")
          }
        }
      case .returning:
        ActionOperation(action: action, store: store) { action, store in
          store.updateModel { $0 += action.number }
          return "\(store.model)"
        }
      default: super.operation(for: action, in: store)
      }
    }
  }

  private static func reducer(_ way: Way) -> sending Reducer<Int, Question> {
    switch way {
    case .reducing, .silent, .failing: return ReducingReducer()
    case .applying: return ApplyingReducer()
    default: return OperatingReducer()
    }
  }

  let dispatcher = Dispatcher()

  @discardableResult
  private func add(_ way: Way, as name: String = "desk", model: Int = 0) -> Desk {
    dispatcher.register(
      store: Desk(identifier: name, model: model, reducer: Self.reducer(way)))
  }

  @Test(arguments: Dispatcher.Mode.queuedModes, Way.replying)
  func reachTheTaskThatSends(_ mode: Dispatcher.Mode, _ way: Way) async throws {
    let desk = add(way)
    for number in 1...3 {
      let reply = try await dispatcher.send(Question(way: way), mode: mode).reply
      #expect(reply == "\(2 * number - 1)")
      #expect(try await desk.send(Question(way: way), mode: mode).reply == "\(2 * number)")
    }
  }

  @Test(arguments: Dispatcher.Mode.everyMode, Way.replying)
  func areInTheResultOfADispatch(_ mode: Dispatcher.Mode, _ way: Way) async {
    add(way)
    for number in 1...3 {
      let handle = dispatcher.dispatch(action: Question(way: way), mode: mode)
      #expect(await handle.result.replies(to: Question.self) == ["desk": "\(number)"])
    }
  }

  @Test(arguments: Dispatcher.Mode.queuedModes, Way.replying)
  func ofSeveralStoresGoByStore(_ mode: Dispatcher.Mode, _ way: Way) async {
    for (place, name) in ["a", "b", "c"].enumerated() { add(way, as: name, model: 10 * place) }
    add(.silent, as: "silent")
    let observer = (dispatcher.store(with: "b") as? Desk)?.observe(.model) { _ in }
    dispatcher.register(middleware: RecordingMiddleware())
    var question = Question(way: way)
    question.number = 5
    let result = await dispatcher.send(question, mode: mode)
    #expect(result.replies.filter { $0.key != "silent" } == ["a": "5", "b": "15", "c": "25"])
    let error = #expect(throws: DispatchError.self) { try result.reply }
    #expect(error?.code == .severalReplies)
    observer?.cancel()
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func ofNoStoreAreAnError(_ mode: Dispatcher.Mode) async {
    add(.silent)
    let result = await dispatcher.send(Question(way: .silent), mode: mode)
    #expect(result.result.isSuccess)
    #expect(throws: DispatchError.self) { try result.reply }
    #expect(result.replies.isEmpty)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func ofAStoreThatFailsDoNotCount(_ mode: Dispatcher.Mode) async {
    add(.failing)
    let result = await dispatcher.send(Question(way: .failing), mode: mode)
    #expect(throws: StageFright.self) { try result.reply }
    #expect(result.replies.isEmpty)
  }

  private struct Ask: ActionType, Equatable {
    typealias Reply = Int
    var number = 1
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func ofAStoreThrowTheReasonWhyTheDispatchWasRefused(_ mode: Dispatcher.Mode) async throws {
    let sum = dispatcher.register(
      store: Store(identifier: "sum", model: 0) {
        On(Ask.self) { sum, ask in
          sum += ask.number
          return sum
        }
      })
    let rate = DispatchOptions.rateLimited(by: RateLimit(1, per: .seconds(600)))
    let used: DispatchOptions = [.idempotencyKey("used"), rate]
    #expect(try await dispatcher.send(Ask(), mode: mode, options: used).reply(from: sum) == 1)
    let refusals: [(DispatchError.Code, DispatchOptions)] = [
      (.timedOut, .timeout(.zero)), (.invalidIdempotencyKey, .idempotencyKey("")),
      (.idempotencyKeyReused, .idempotencyKey("used")), (.rateLimitExceeded, rate),
    ]
    for (code, options) in refusals {
      let sent = await dispatcher.send(Ask(number: 2), mode: mode, options: options)
      let ofStore = #expect(throws: DispatchError.self) { try sent.reply(from: sum) }
      let ofResult = #expect(throws: DispatchError.self) {
        try sent.result.reply(to: Ask.self, from: sum)
      }
      #expect(ofStore?.code == code && ofResult?.code == code)
    }
    #expect(sum.model == 1)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func ofAStoreThrowItsCancellationAlthoughAnotherStoreHasFailed(_ mode: Dispatcher.Mode) async {
    add(.failing)
    let cancelled = dispatcher.register(
      store: Store(identifier: "cancelled", model: 0) {
        On(Question.self) { _, _ -> String in throw CancellationError() }
      })
    let sent = await dispatcher.send(Question(way: .failing), mode: mode)
    #expect(sent.error is StageFright && sent["cancelled"].isCancelled)
    #expect(throws: CancellationError.self) { try sent.reply(from: cancelled) }
  }

  @Test func areEachTheirOwnDispatchesWhereManyTasksSend() async throws {
    let desks = (0..<4).map { add(Way.replying[$0], as: "\($0)") }
    try await withThrowingDiscardingTaskGroup { group in
      for task in 0..<8 {
        group.addTask {
          let desk = desks[task % 4]
          for _ in 0..<Load.count(100) {
            var question = Question(way: Way.replying[task % 4])
            question.number = 0
            let reply = try await desk.send(question, mode: .serial(lane: task % 4)).reply
            #expect(reply == "0")
          }
        }
      }
    }
  }

  /// Two threads finish an operation, each with another reply: one of them is ignored, and so is its reply.
  @Test func areNotThoseOfAFinishThatIsIgnored() async throws {
    try await explore(seeds: 0..<500) { dispatcher in
      let ignored = Recorder<String>()
      dispatcher.onWarning { _ in
        if let reply = Thread.current.threadDictionary["reply"] as? String { ignored.record(reply) }
      }
      let desk = dispatcher.register(
        store: Desk(identifier: "desk", model: 0, reducer: RacingReducer()))
      let reply = try await desk.send(Question(way: .callback)).reply
      // Until both threads have ended.
      try await dispatcher.simulation?.clock.sleep(for: .seconds(1))
      if ignored.all != [reply == "1" ? "2" : "1"] { throw StageFright() }
    }
  }

  private final class RacingReducer: Reducer<Int, Question> {
    override func operation(for action: Question, in store: Desk) -> ActionOperation<Int, Question>
    {
      ActionOperation(action: action, store: store) { operation, _, store in
        for reply in ["1", "2"] {
          store.dispatcher?.simulation?.startThread {
            Thread.current.threadDictionary["reply"] = reply
            operation.finish(with: reply)
            Thread.current.threadDictionary["reply"] = nil
          }
        }
      }
    }
  }
}
