import Foundation

/// Reports once, on standard error, that no run has ended for a while.
///
/// The usual reason is a scenario that blocks the only running thread of its world.
struct HangNotice {
  private static let limit = Duration.seconds(20)
  private var count = -1
  private var since = ContinuousClock.now
  private var wasWritten = false

  mutating func check(_ search: SeedSearch) {
    let present = search.count
    if present != count { (count, since) = (present, .now) }
    guard !wasWritten, .now - since > Self.limit else { return }
    wasWritten = true
    let seeds = search.underWay.map(String.init).joined(separator: " and ")
    let line = """
      explore: no run has ended for \(Self.limit), with seed \(seeds). Does the program block its thread, \
      for instance by calling the library while it holds a lock?

      """
    try? FileHandle.standardError.write(contentsOf: Data(line.utf8))
  }
}
