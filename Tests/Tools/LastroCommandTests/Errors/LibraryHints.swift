// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The literals of the library's sources that are hints, or that hints are made of.
///
/// They are read from the sources, so a new hint needs no entry in a list.
struct LibraryHints {
  /// The hints, with an interpolation written as `…`, and the file and line of each.
  let places: [String: String]

  init() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../..").standardized
    let sources = root.appending(path: "Sources")
    var places: [String: String] = [:]
    let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
    for case let file as URL in files where file.pathExtension == "swift" && !file.path.contains("/Sources/Tools/") {
      for (hint, line) in HintReader.hints(in: Array(try Data(contentsOf: file))) {
        // A literal of several lines is one line in an error.
        let text = hint.contains("\n") ? hint.split(whereSeparator: \.isWhitespace).joined(separator: " ") : hint
        places[text] = "\(file.lastPathComponent):\(line)"
      }
    }
    self.places = places
  }

  /// Returns the first part of a text that looks like a name in Swift; `nil` if there is none.
  static func swiftName(in text: String) -> Substring? {
    let rest = ["OpenSSL", "WebSocket", "KiB", "MiB"].reduce(text) { $0.replacing($1, with: "") }
    let names =
      #/\b[a-z]+[A-Z]\w*|\b[A-Z]\w*[a-z]\.[a-z…]|\b[A-Z][a-z]+[A-Z]\w*|(?:^|[ (,])\.[a-z]\w*|\bnil\b|\w\([a-z_)]/#
    return rest.firstMatch(of: names)?.output
  }
}
