import DispatchStore
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import NIOEmbedded
import Testing

@testable import Recipes

@Suite struct HTTPHandlerTests {
  private let router = Router()

  private let dispatcher = Dispatcher(name: "test")

  init() {
    let requests = DispatchLimit(1_000, overflow: .reject, name: "requests")
    addErrors(to: router)
    addAccounts(to: router, dispatcher, requests: requests)
  }

  /// Withdraws an amount for each key, and returns the statuses and bodies.
  private func withdraw(_ requests: (amount: Int, key: String?)...) async throws -> [String] {
    try await Application(router: router).test(.router) { client in
      var answers: [String] = []
      for (amount, key) in requests {
        var headers: HTTPFields = [.contentType: "application/json"]
        headers[.idempotencyKey] = key
        let response = try await client.execute(
          uri: "/accounts/ann/withdrawals", method: .post, headers: headers,
          body: ByteBuffer(string: #"{"amount": \#(amount)}"#))
        answers.append("\(response.status.code) \(String(buffer: response.body))")
      }
      return answers
    }
  }

  @Test func aRepeatWithTheSameKeyGetsTheFirstAnswer() async throws {
    let answers = try await withdraw((30, "a"), (30, "a"), (30, "b"))
    #expect(answers == ["200 70", "200 70", "200 40"])
  }

  @Test func aKeyThatIsNotVisibleAsciiIsRefusedAndMakesNoTwoWithdrawalsOne() async throws {
    let long = String(repeating: "a", count: 201)
    let answers = try await withdraw(
      (30, ""), (30, ""), (30, long), (30, "a b"), (30, "\u{e9}"), (30, nil))
    #expect(answers.map { $0.prefix(3) } == ["422", "422", "422", "422", "422", "200"])
    #expect(answers[5] == "200 70")
  }

  @Test func aNameIsTheSameHoweverItsPathIsEncoded() async throws {
    let answers = try await Application(router: router).test(.router) { client -> [String] in
      var answers: [String] = []
      for id in ["ann", "%61nn", "%ff"] {
        let response = try await client.execute(
          uri: "/accounts/\(id)/withdrawals", method: .post,
          headers: [.contentType: "application/json"],
          body: ByteBuffer(string: #"{"amount": 30}"#))
        answers.append("\(response.status.code) \(String(buffer: response.body))")
      }
      return answers
    }
    #expect(answers == ["200 70", "200 40", #"422 {"error":"The path is not UTF-8."}"#])
  }

  @Test(arguments: ["%00", String(repeating: "a", count: 801)])
  func aNameThatCannotBeSavedIs422(name: String) async throws {
    let status = try await Application(router: router).test(.router) {
      try await $0.execute(
        uri: "/accounts/\(name)/withdrawals", method: .post,
        headers: [.contentType: "application/json"], body: ByteBuffer(string: #"{"amount": 30}"#)
      ).status
    }
    #expect(status == .unprocessableContent)
  }

  /// Withdraws with a key, outside of an application, so that the request's task can be cancelled alone.
  private static func status(
    by responder: RouterResponder<BasicRequestContext>
  ) async throws -> HTTPResponse.Status {
    var head = HTTPRequest(
      method: .post, scheme: nil, authority: nil, path: "/accounts/ann/withdrawals")
    head.headerFields[.idempotencyKey] = "a"
    let source = ApplicationRequestContextSource(
      channel: EmbeddedChannel(), logger: Logger(label: "test"))
    let body = RequestBody(buffer: ByteBuffer(string: #"{"amount": 30}"#))
    let request = Request(head: head, body: body)
    return try await responder.respond(
      to: request, context: BasicRequestContext(source: source)
    ).status
  }

  @Test func aWithdrawalWithAKeyGoesOnIfItsClientHasGone() async throws {
    struct Hold: ActionType {}
    let begun = AsyncStream.makeStream(of: Void.self)
    let go = AsyncStream.makeStream(of: Void.self)
    dispatcher.register(
      store: Store(identifier: "gate", model: 0) {
        Perform(Hold.self) { _, _ in for await _ in go.stream { break } }
      })
    dispatcher.register(
      .before(Withdraw.self) { _, _ in
        begun.continuation.yield()
        return .pass
      })
    dispatcher.dispatch(Hold(), mode: .serial(lane: "ann"))
    let responder = router.buildResponder()
    let first = Task { try await Self.status(by: responder) }
    for await _ in begun.stream { break }
    first.cancel()
    go.continuation.yield()
    #expect(try await first.value == .ok)
  }

  @Test func errorsBecomeStatuses() async throws {
    let answers = try await withdraw((900, nil), (0, nil), (30, "a"), (31, "a"))
    #expect(answers.map { $0.prefix(3) } == ["409", "422", "200", "422"])
    #expect(answers[0] == #"409 {"error":"The account is overdrawn."}"#)
  }
}

extension HTTPField.Name {
  fileprivate static let idempotencyKey = Self("Idempotency-Key")!
}
