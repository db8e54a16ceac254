/// The history of this project's first commits, a part of the program, which is replayed if there is neither a
/// repository nor a log.
///
/// Saved, in the repository's top folder, by the command that `--help` prints, up to an early commit:
///
///     swift run churn --help | sed -n 's/^ *\(git .*\)HEAD > history.log/\1 311ea50/p' | sh \
///       > Sources/churn/Resources/history.log
final class SavedHistory: ByteSource {
  let name = "the saved history"
  private var rest = PackageResources.history_log[...]

  func read(into buffer: inout [UInt8]) -> Int {
    let block = rest.prefix(buffer.count)
    buffer.replaceSubrange(..<block.count, with: block)
    rest = rest.dropFirst(block.count)
    return block.count
  }
}
