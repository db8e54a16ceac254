import DispatchStore
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Testing

@testable import Recipes

@Suite struct HTTPHandlerTests {
  private let router = Router()

  init() { addAccounts(to: router, Dispatcher(name: "test")) }

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

  @Test func anEmptyKeyIsRefusedAndMakesNoTwoWithdrawalsOne() async throws {
    let answers = try await withdraw((30, ""), (30, ""), (30, nil))
    #expect(answers.map { $0.prefix(3) } == ["400", "400", "200"])
    #expect(answers[2] == "200 70")
  }

  @Test func errorsBecomeStatuses() async throws {
    let answers = try await withdraw((900, nil), (0, nil), (30, "a"), (31, "a"))
    #expect(answers.map { $0.prefix(3) } == ["409", "422", "200", "422"])
    #expect(answers[0] == #"409 {"error":"The account is overdrawn."}"#)
  }
}
