import DispatchStoreServer
import Hummingbird
import HummingbirdTesting
import Metrics
import MetricsTestKit
import Testing

@Suite struct RequestMetricsTests {
  private func labels(_ route: String, _ status: String) -> [(String, String)] {
    [
      ("http.route", route), ("http.request.method", "GET"),
      ("http.response.status_code", status),
    ]
  }

  @Test func requestsAreTimedByRouteAndStatusWithTheirErrors() async throws {
    let (backend, router) = (TestMetrics(), Router())
    router.add(middleware: RequestMetrics(factory: backend))
    router.add(middleware: DispatchErrorMiddleware())
    router.get("/orders/:id") { _, context in try context.decoded("id") }
    router.get("/away") { _, _ -> String in throw HTTPError(.serviceUnavailable) }
    try await Application(router: router).test(.router) { client in
      for id in 1...3 { try await client.execute(uri: "/orders/\(id)", method: .get) { _ in } }
      try await client.execute(uri: "/away", method: .get) { _ in }
    }
    let name = "http.server.request.duration"
    #expect(try backend.expectTimer(name, labels("/orders/{id}", "200")).values.count == 3)
    #expect(try backend.expectTimer(name, labels("/away", "503")).values.count == 1)
  }
}
