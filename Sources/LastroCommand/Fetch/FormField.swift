// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Lastro
import LastroMultipart

/// A part of a form as curl's `-F` writes it: `name=text`, `name=@file`, `name=<file`, each with `;type=…` and
/// `;filename=…` behind it. In quotes, a text or a name may have semicolons.
struct FormField: Equatable {
  enum Content: Equatable {
    case text(String)
    /// Sent as a file, with its name.
    case file(String)
    /// Its text is sent, without its name.
    case textOf(String)
  }

  var name: String
  var content: Content
  var type: String?
  var filename: String?

  /// - Parameter isLiteral: whether all behind `=` is the text, as `--form-string` has it.
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
        // A parameter of the type: `type=text/plain;charset=utf-8`.
        type = "\(type ?? "");\(attribute)\(rest.prefix { $0 != ";" })"
        rest = rest[(rest.firstIndex(of: ";") ?? rest.endIndex)...]
      } else {
        throw ValidationError(
          "--form \(Self.shown(argument)) has ';\(Self.shown(attribute))' behind it, which is neither "
            + "type= nor filename=; put a text with semicolons into quotes, or give it by --form-string.")
      }
    }
  }

  /// Returns the type that curl guesses by the end of a file's name; `nil` for any other.
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

  /// A word up to a semicolon, or in quotes, in which a backslash stands before a quote or another one.
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

  /// Adds the part.
  ///
  /// - Throws: `TransportError` for a file that cannot be read; `ValidationError` for standard input.
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
