import Testing

@testable import DispatchStore

@Suite("The handler of warnings")
struct WarningHandlerTests {
  @Test func isCalledAsDeepOnTheStackHoweverManyWarningsCameBefore() {
    let dispatcher = Dispatcher()
    let places = Recorder<UInt>()
    dispatcher.onWarning { _ in
      var local = 0
      withUnsafeMutablePointer(to: &local) { places.record(UInt(bitPattern: $0)) }
    }
    let warning = DispatchWarning(kind: .noResponder, storeIdentifier: nil, message: "")
    for _ in 0..<1_000 { dispatcher.report(warning) }
    #expect(places.all.count == 1_000)
    #expect(places.all[0] == places.all[999])
  }
}
