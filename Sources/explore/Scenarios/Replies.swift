import DispatchStore
import DispatchStoreTesting

extension Scenario {
  /// Questions to several stores, of which some fail, some reply twice, and some ask others.
  static let replies = Scenario(
    name: "replies", summary: "a caller gets the replies to its action, of stores that finished"
  ) { dispatcher, simulation in
    let faults = Shared([String]())
    dispatcher.onWarning { warning in
      if warning.kind != .finishedTwice { faults.note("\(warning)") }
    }
    dispatcher.register(
      store: Desk(identifier: "applying", reducer: ApplyingDesk("applying", faults)),
      waitFor: ["reducing"])
    dispatcher.register(
      store: Desk(identifier: "reducing", reducer: ReducingDesk("reducing", faults)))
    dispatcher.register(
      store: Desk(identifier: "operating", reducer: OperatingDesk("operating", faults)))
    dispatcher.register(
      store: Desk(identifier: "calling", reducer: CallingDesk("calling", faults)))
    let desk = dispatcher.register(
      store: Desk(identifier: "leaf", reducer: ReducingDesk("leaf", faults)), waitFor: ["calling"])
    let modes: [Dispatcher.Mode] = [
      .sync, .async, .serial, .mainThread, .serial(lane: "a"), .serial(lane: "a"), .serial, .async,
    ]
    await concurrently(modes.enumerated()) { place, mode in
      let question = Question(number: place)
      if place < 5 {
        let handle = dispatcher.dispatch(action: question, mode: mode)
        if place == 1 { simulation.startThread { handle.cancel() } }
        let result = await handle.result
        let replies = result.replies(to: Question.self)
        faults.with { $0 += question.faults(in: result, replies) }
      } else {
        let sent = await dispatcher.send(question, mode: mode)
        faults.with { $0 += question.faults(in: sent.result, sent.replies) }
      }
    }
    let reply = try await desk.send(Question(number: 10)).reply
    try check(reply == Answer(to: 10, of: "leaf"), "\(reply)")
    try check(faults.now.isEmpty, "\(faults.now)")
  }
}

private typealias Desk = Store<Journal, Question>

/// The rest of its number by four is what the stores do with it.
private struct Question: ActionType {
  typealias Reply = Answer
  let number: Int

  var way: Int { number % 4 }

  /// Whether a store asks it on behalf of another question.
  var isNested: Bool { number >= 100 }

  /// Question 1 is cancelled at some time, and so is what its stores ask.
  var mayBeCancelled: Bool { number == 1 || isNested && number % 100 == 4 }

  static let stores = ["applying", "reducing", "operating", "calling", "leaf"]

  /// The stores that finish.
  var finishing: Set<String> {
    switch way {
    case 1: ["operating", "calling", "leaf"]
    case 2: ["reducing", "operating", "calling", "leaf"]
    case 3: ["reducing", "applying"]
    default: Set(Self.stores)
    }
  }

  /// Names the faults of a result, such as replies that are not those of the stores that finished.
  ///
  /// - Parameter store: The only one that was asked; nil for all.
  func faults(
    in result: DispatchResult, _ replies: [String: Answer], of store: String? = nil
  ) -> [String] {
    let finishing = store.map { [$0] } ?? finishing
    let finished = Set(result.stores.filter(\.outcome.isFinished).map(\.storeIdentifier))
    var replying = finished
    if way == 0 { replying.remove("calling") }
    let expected = Dictionary(
      uniqueKeysWithValues: replying.map { ($0, Answer(to: number, of: $0)) })
    var faults: [String] = []
    if replies != expected { faults.append("\(result) has the replies \(replies)") }
    if finished != finishing, !mayBeCancelled || !finished.isSubset(of: finishing) {
      faults.append("\(result), and \(finishing) should have finished")
    }
    return faults
  }
}

/// A store's only reply, or the one that counts.
private struct Answer: Equatable, Sendable {
  let number: Int
  let store: String
  var counts = true

  init(to number: Int, of store: String, counts: Bool = true) {
    (self.number, self.store, self.counts) = (number, store, counts)
  }
}

/// Replies twice; the last reply counts.
private class ReducingDesk: Reducer<Journal, Question> {
  fileprivate let name: String
  private let faults: Shared<[String]>

  init(_ name: String, _ faults: Shared<[String]>) {
    (self.name, self.faults) = (name, faults)
  }

  override func reduce(into model: inout Journal, action: Question) throws {
    model.entries.append(action.number)
    reply(Answer(to: action.number, of: name, counts: false))
    reply(Answer(to: action.number, of: name))
    if action.way == 1, name != "leaf" { throw Refused() }
  }

  fileprivate func check(
    _ result: DispatchResult, _ replies: [String: Answer], to question: Question, of store: String
  ) {
    faults.with { $0 += question.faults(in: result, replies, of: store) }
  }
}

/// Asks others while it runs.
private final class ApplyingDesk: ReducingDesk {
  override func apply(_ action: Question, to store: Desk) throws {
    store.updateModel { $0.entries.append(action.number) }
    reply(Answer(to: action.number, of: name))
    for other in ["leaf", "operating"] {
      let question = Question(number: 100 + 4 * action.number)
      let handle = store.dispatcher?.dispatch(
        storeIdentifier: other, action: question, mode: .sync)
      guard let result = handle?.resultIfEnded else { continue }
      check(result, result.replies(to: Question.self), to: question, of: other)
    }
    if action.way == 2 { throw Refused() }
  }
}

/// Asks others while it runs.
private final class OperatingDesk: ReducingDesk, @unchecked Sendable {
  // because all of its properties are constants
  override func operation(
    for action: Question, in store: Desk
  ) -> ActionOperation<Journal, Question> {
    ActionOperation(action: action, store: store) { [self] action, store async throws in
      await Task.yield()
      if !action.isNested { await ask(action.number, store) }
      store.updateModel { $0.entries.append(action.number) }
      if action.way == 3 { throw Refused() }
      return Answer(to: action.number, of: name)
    }
  }

  /// Asks two stores in child tasks.
  private func ask(_ number: Int, _ store: Desk) async {
    guard let dispatcher = store.dispatcher else { return }
    let questions = (Question(number: 200 + 4 * number), Question(number: 300 + 4 * number))
    async let first = dispatcher.send(questions.0, to: "leaf")
    async let second = dispatcher.dispatch(
      storeIdentifier: "reducing", action: questions.1, mode: .async
    ).result
    let (sent, result) = await (first, second)
    check(sent.result, sent.replies, to: questions.0, of: "leaf")
    check(result, result.replies(to: Question.self), to: questions.1, of: "reducing")
  }
}

/// Ends its operations on another thread, or in their blocks, and once more.
private final class CallingDesk: ReducingDesk {
  override func operation(
    for action: Question, in store: Desk
  ) -> ActionOperation<Journal, Question> {
    ActionOperation(action: action, store: store) { [name] operation, action, store in
      let dispatcher = store.dispatcher
      let end: @Sendable () -> Void = {
        switch action.way {
        case 0: operation.finish()
        case 3: operation.finish(throwing: Refused())
        default: operation.finish(with: Answer(to: action.number, of: name))
        }
        operation.finish(with: Answer(to: action.number, of: name, counts: false))
        // Which reports that, perhaps after the end of the scenario.
        withExtendedLifetime(dispatcher) {}
      }
      if action.number == 2 { end() } else { dispatcher?.simulation?.startThread(end) }
    }
  }
}
