// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroSupport

/// The contents of files that are in use, by the options that name the files. Stacks, loops and profiles with equal
/// options share them, because parsing roots takes time, and a pipe can be read only once.
final class FileContents<Source: Hashable & Sendable, Content: AnyObject & Sendable>: Sendable {
  private struct Entry {
    let version: FileVersion?
    weak var content: Content?
  }

  private let entries = Lock([Source: Entry]())

  /// Returns what the files currently contain.
  ///
  /// - Parameters:
  ///   - version: the state of the files, taken before they are read, so that a later change is noticed the next time.
  ///   - read: reads the files, unless the contents of this version are in use. It may block.
  func content(
    of source: Source, _ version: FileVersion?, _ read: () throws(TransportError) -> Content
  ) throws(TransportError) -> Content {
    let known = entries.withLock { $0[source].flatMap { $0.version == version ? $0.content : nil } }
    if let known { return known }
    let content = try read()
    entries.withLock { entries in
      entries = entries.filter { $0.value.content != nil }
      entries[source] = Entry(version: version, content: content)
    }
    return content
  }
}
