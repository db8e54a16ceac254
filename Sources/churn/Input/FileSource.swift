/// A saved log, in a file or on standard input.
struct FileSource: ByteSource {
  let name: String
  private let descriptor: Descriptor

  static let standardInput = FileSource(
    name: "standard input", descriptor: .standardInput)

  private init(name: String, descriptor: Descriptor) {
    self.name = name
    self.descriptor = descriptor
  }

  init(path: String) throws(Failure) {
    name = path
    do {
      descriptor = try Descriptor.reading(path)
    } catch {
      throw Failure(.noInput, "cannot open the log '\(path)': \(error)")
    }
  }

  func reads(_ file: Descriptor) -> Bool { file.isSameFile(as: descriptor) }

  func isReadable(before deadline: Deadline) throws(Failure) -> Bool {
    try reading { () throws(SystemError) in try descriptor.isReadable(before: deadline) }
  }

  func read(into buffer: inout [UInt8]) throws(Failure) -> Int {
    try reading { () throws(SystemError) in try descriptor.read(into: &buffer) }
  }

  private func reading<Result>(
    _ work: () throws(SystemError) -> Result
  ) throws(Failure) -> Result {
    do {
      return try work()
    } catch {
      throw Failure(.noInput, "cannot read the log '\(name)': \(error)")
    }
  }
}
