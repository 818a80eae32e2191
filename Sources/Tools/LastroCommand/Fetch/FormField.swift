// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Lastro
import LastroEveryday

/// A part of a form in the syntax of curl's `-F`: `name=text`, `name=@file`, `name=<file`, each optionally followed by
/// `;type=…` and `;filename=…`. A quoted text or name may contain semicolons.
struct FormField: Equatable {
  enum Content: Equatable {
    case text(String)
    /// A file that is sent with its name.
    case file(String)
    /// A file whose text is sent without its name.
    case textOf(String)
  }

  var name: String
  var content: Content
  var type: String?
  var filename: String?

  /// - Parameter isLiteral: whether everything after `=` is the text, as for `--form-string`.
  init(_ argument: String, isLiteral: Bool = false) throws {
    guard let equals = argument.firstIndex(of: "="), equals > argument.startIndex else {
      throw ValidationError(
        "--form \(Self.shown(argument)) cannot be parsed; write NAME=TEXT, NAME=@FILE or NAME=<FILE.")
    }
    name = String(argument[..<equals])
    var rest = argument[argument.index(after: equals)...]
    guard !isLiteral else {
      content = .text(String(rest))
      return
    }
    let kind = rest.first
    if kind == "@" || kind == "<" { rest.removeFirst() }
    let value = try Self.word(&rest, of: argument)
    content = kind == "@" ? .file(value) : kind == "<" ? .textOf(value) : .text(value)
    try readAttributes(rest, of: argument)
  }

  private mutating func readAttributes(_ text: Substring, of argument: String) throws {
    var rest = text
    while rest.popFirst() != nil {
      let attribute = rest.prefix { $0 != "=" && $0 != ";" }.trimmingPrefix(" ")
      rest = rest[attribute.endIndex...]
      if rest.first == "=", attribute == "type" || attribute == "filename" {
        rest.removeFirst()
        let value = try Self.word(&rest, of: argument)
        if attribute == "type" { type = value } else { filename = value }
      } else if type != nil {
        // This is a parameter of the type: `type=text/plain;charset=utf-8`.
        type = "\(type ?? "");\(attribute)\(rest.prefix { $0 != ";" })"
        rest = rest[(rest.firstIndex(of: ";") ?? rest.endIndex)...]
      } else {
        throw ValidationError(
          "--form \(Self.shown(argument)) has ';\(Self.shown(attribute))' behind it, which is neither "
            + "type= nor filename=; put a text with semicolons into quotes, or give it by --form-string.")
      }
    }
  }

  /// Returns the type that curl guesses from a file's extension; `nil` for any other extension.
  private static func type(ofName name: String) -> String? {
    let ends = [
      ".gif": "image/gif", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png", ".svg": "image/svg+xml",
      ".txt": "text/plain", ".htm": "text/html", ".html": "text/html", ".pdf": "application/pdf",
      ".xml": "application/xml",
    ]
    let name = name.lowercased()
    return ends.first { name.hasSuffix($0.key) }?.value
  }

  private static func shown(_ text: some StringProtocol) -> String { String(text.prefix(40)).onOneLine }

  /// Removes and returns a word up to a semicolon, or a quoted word, in which a backslash escapes a quote or a
  /// backslash.
  private static func word(_ rest: inout Substring, of argument: String) throws -> String {
    guard rest.first == "\"" else {
      let word = rest.prefix { $0 != ";" }
      rest = rest[word.endIndex...]
      return String(word)
    }
    rest.removeFirst()
    var word = ""
    while let character = rest.popFirst() {
      if character == "\"" {
        rest = rest.drop { $0 == " " }
        guard rest.isEmpty || rest.first == ";" else { break }
        return word
      }
      guard character == "\\", let next = rest.first, next == "\"" || next == "\\" else {
        word.append(character)
        continue
      }
      word.append(next)
      rest.removeFirst()
    }
    throw ValidationError(
      "--form \(Self.shown(argument)) has a quote that is not closed in front of a semicolon; close it.")
  }

  /// Adds the part to a form.
  ///
  /// - Throws: `TransportError` for a file that cannot be read; `ValidationError` for standard input that cannot be
  ///   read.
  func add(to form: inout MultipartForm) throws {
    switch content {
    case .text(let text) where type == nil && filename == nil: form.add(name, text)
    case .text(let text):
      form.add(name, Data(text.utf8), filename: filename, contentType: type ?? filename.flatMap(Self.type(ofName:)))
    case .file("-"):
      form.add(
        name, Data(try StandardInput.readToEnd()), filename: filename ?? "-",
        contentType: type ?? filename.flatMap(Self.type(ofName:)))
    case .file(let path):
      try form.add(name, file: path, filename: filename, contentType: type ?? Self.type(ofName: filename ?? path))
    case .textOf("-"): form.add(name, Data(try StandardInput.readToEnd()), filename: filename, contentType: type)
    case .textOf(let path):
      form.add(name, try RequestBody.file(path: path, contentType: type), filename: filename)
    }
  }
}
