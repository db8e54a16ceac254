import DispatchStore
import Testing

@testable import Recipes

@Suite struct TwoDispatchersTests {
  @Test func eachSaleIsReportedByTheTimeBothAreDrained() async {
    let (shop, reports) = (Dispatcher(name: "test"), makeReports())
    let sold = reports.register(
      store: Store(identifier: "sold", model: [String]()) {
        On(Sold.self) { all, sold in all.append(sold.item) }
      })
    report(from: shop, to: reports)
    for item in ["tea", "salt"] { await shop.dispatch(Sold(item: item)).ended() }
    await shop.drain()
    await reports.drain()
    #expect(sold.model.sorted() == ["salt", "tea"])
  }
}
