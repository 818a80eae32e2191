// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// A page of a documentation catalog. The names of guides are unique across all catalogs.
struct Guide: Sendable {
  let name: String

  private static let catalogs: [URL] = {
    var docs = URL(filePath: #filePath)
    for _ in 0..<5 { docs.deleteLastPathComponent() }
    docs.append(path: "Docs")
    return files(in: docs).filter { $0.hasSuffix(".docc") }.map { docs.appending(path: $0) }
  }()

  private static func files(in folder: URL) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()
  }

  /// The names of all guides with samples, except the page of each catalog that is named after its module.
  static var names: [String] {
    catalogs.flatMap { catalog in
      files(in: catalog).filter { $0.hasSuffix(".md") }.map { String($0.dropLast(3)) }
        .filter { $0 != catalog.deletingPathExtension().lastPathComponent && Guide(name: $0).hasSamples }
    }
  }

  private var hasSamples: Bool {
    (try? String(contentsOf: url, encoding: .utf8))?.contains("<!-- sample: ") ?? false
  }

  private var url: URL {
    let urls = Self.catalogs.map { $0.appending(path: "\(name).md") }
    return urls.first { FileManager.default.fileExists(atPath: $0.path) } ?? URL(filePath: "\(name).md")
  }

  /// Returns the output of a sample that the guide shows; `nil` if the guide shows none.
  func printed(_ name: String) -> String? {
    guard let text = try? String(contentsOf: url, encoding: .utf8), let range = Self.block(name, in: text) else {
      return nil
    }
    return String(text[range].dropLast())
  }

  func replace(_ name: String, with printed: String) throws {
    var text = try String(contentsOf: url, encoding: .utf8)
    guard let range = Self.block(name, in: text) else { return }
    guard Self.comparable(String(text[range].dropLast())) != Self.comparable(printed) else { return }
    text.replaceSubrange(range, with: printed + "\n")
    try Data(text.utf8).write(to: url)
  }

  private static func block(_ name: String, in text: String) -> Range<String.Index>? {
    guard let start = text.firstRange(of: "<!-- prints: \(name) -->\n```text\n") else { return nil }
    guard let end = text[start.upperBound...].firstRange(of: "```\n") else { return nil }
    return start.upperBound..<end.lowerBound
  }

  /// Returns the text with values that differ between runs replaced by placeholders.
  static func comparable(_ text: String) -> String {
    text.replacing(/-?\d+(?:\.\d+)?(?:e-?\d+)? (?:ms|s)\b/, with: "TIME")
      // This part is shown only if it took more than a millisecond.
      .replacing(" (TIME to make the request)", with: "")
      .replacing(/_s":(?:null|-?\d+(?:\.\d+)?(?:e-?\d+)?)/, with: "_s\":TIME")
      .replacing(/"(?:call|id)":\d+/, with: "\"id\":N")
      .replacing(/(?:call|connection) \d+/, with: "N")
      .replacing(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/, with: "UUID")
      .replacing(/sha256\/[A-Za-z0-9+\/]{43}=/, with: "PIN")
      .replacing(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/, with: "DATE")
  }
}
