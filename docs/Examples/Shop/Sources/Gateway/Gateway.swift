import DispatchStoreServer
import Foundation
import Hummingbird
import Tracing

/// The bank: charges and refunds, each once per key.
@main
struct Gateway {
  struct Charge: Decodable { var key: String, order: Int, amount: Int }
  struct Refund: Decodable { var key: String, order: Int, receipt: String }
  struct Mode: Decodable { var mode: Fault }

  static func main() async throws {
    let environment = ProcessInfo.processInfo.environment
    let port = environment["PORT"].flatMap { Int($0) } ?? 8090
    let ledger = try Ledger(path: environment["LEDGER"] ?? "ledger.jsonl")
    if let path = environment["TRACES"] {
      InstrumentationSystem.bootstrap(try JSONLinesTracer(file: URL(fileURLWithPath: path)))
    }
    let address = ApplicationConfiguration(address: .hostname("127.0.0.1", port: port))
    try await Application(router: router(ledger: ledger), configuration: address).runService()
  }

  static func router(ledger: Ledger) -> Router<GatewayContext> {
    let router = Router(context: GatewayContext.self)
    router.add(middleware: TracingMiddleware())
    let faults = Faults()
    router.get("ledger") { _, _ in
      Response(status: .ok, body: .init(byteBuffer: ByteBuffer(bytes: try await ledger.lines())))
    }
    router.put("fault") { request, context in
      faults.set(try await request.decode(as: Mode.self, context: context).mode)
      return HTTPResponse.Status.ok
    }
    let bank = router.group().add(middleware: faults)
    bank.post("charges") { request, context in
      let call = try await request.decode(as: Charge.self, context: context)
      guard call.amount <= 1_000_000 else { throw HTTPError(.init(code: 402)) }
      let entry = await ledger.book(
        .charge, key: call.key, order: call.order, amount: call.amount, receipt: UUID().uuidString)
      return ["receipt": entry.receipt]
    }
    bank.post("refunds") { request, context in
      let call = try await request.decode(as: Refund.self, context: context)
      let amount = await ledger.amount(of: call.receipt) ?? 0
      _ = await ledger.book(
        .refund, key: call.key, order: call.order, amount: amount, receipt: call.receipt)
      return [String: String]()
    }
    return router
  }
}
