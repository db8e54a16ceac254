import Testing

@testable import DispatchStore

@Suite("Saved schedules: records", .timeLimit(.minutes(10)))
struct ScheduleRecordsTests {
  @Test func theLatestArrivalKeepsTheName() {
    var records = ScheduleRecords<String>()
    _ = records.enter("second", "a", 2)
    _ = records.enter("first", "a", 1)
    #expect(records["a"] == "second" && records["a", 2] == "second" && records["a", 1] == nil)
    _ = records.enter("third", "a", 3)
    #expect(records["a", 3] == "third" && records["b"] == nil)
  }

  @Test func whatIsReplacedStaysUntilTheNextOneIsSaved() {
    var records = ScheduleRecords<String>()
    _ = records.enter("first", "a", 1)
    records.takeOver("a", by: 2)
    let ofReplaced = records.remove("a", 1)
    #expect(ofReplaced == nil && records["a", 2] == "first")
    _ = records.enter("second", "a", 2)
    #expect(records["a", 2] == "second")
    records.takeOver("a", by: 1)
    let removed = records.remove("a", 2)
    #expect(removed == "second" && records["a"] == nil)
  }

  @Test func oneThatIsSavedTooLateIsRemovedByItsOwnNumber() {
    var records = ScheduleRecords<String>()
    _ = records.enter("second", "a", 2)
    _ = records.remove("a", 2)
    _ = records.enter("first", "a", 1)
    let removed = records.remove("a", 1)
    #expect(removed == "first" && records["a"] == nil)
  }
}
