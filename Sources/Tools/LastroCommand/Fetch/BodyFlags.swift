// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Glibc
import Lastro

/// The flags for the body of a request, with curl's names and meanings.
struct BodyFlags: ParsableArguments {
  @Option(
    name: [.customShort("d"), .customLong("data"), .customLong("data-ascii")],
    help: "Body, or @FILE without its line ends, or @- for standard input. Repeated, joined with '&'.")
  var data: [String] = []
  @Option(name: .customLong("data-binary"), help: "The same; a file is sent as it is.")
  var dataBinary: [String] = []
  @Option(name: .customLong("data-raw"), help: "The same; @ has no meaning.")
  var dataRaw: [String] = []
  @Option(
    name: .customLong("data-urlencode"),
    help: "The same, encoded: TEXT, NAME=TEXT, @FILE or NAME@FILE. Added after all -d.")
  var dataURLEncode: [String] = []
  @Option(help: "JSON body, or @FILE: a POST with Content-Type and Accept application/json. Repeated, joined.")
  var json: [String] = []

  @Option(
    name: [.customShort("F"), .customLong("form")],
    help: """
      Part of a form: NAME=TEXT, NAME=@FILE, or NAME=<FILE for the text of a file; behind it ';type=TYPE' and \
      ';filename=NAME'. - for standard input. Repeatable.
      """)
  var form: [String] = []
  @Option(
    name: .customLong("form-string"),
    help: "Part of a form: NAME=TEXT, without a meaning for any character of the text. Repeatable.")
  var formStrings: [String] = []

  @Option(
    name: [.customShort("T"), .customLong("upload-file")],
    help: "File to PUT, - for standard input. A URL that ends in / gets the file's name.")
  var upload: String?

  private var hasData: Bool { !(data + dataBinary + dataRaw + dataURLEncode).isEmpty }

  func validate() throws {
    let kinds = [
      ("-d", hasData), ("--json", !json.isEmpty), ("-F", !(form + formStrings).isEmpty), ("-T", upload != nil),
    ].filter(\.1).map(\.0)
    if kinds.count > 1 { throw ValidationError("\(kinds[0]) and \(kinds[1]) exclude each other.") }
  }

  /// Sets the body, the method and the fields of a request.
  ///
  /// - Parameter inQuery: whether the data are appended to the URL's query, as by `-G`.
  func apply(to specification: inout RequestSpecification, inQuery: Bool) throws {
    guard !inQuery else {
      guard form.isEmpty, formStrings.isEmpty, json.isEmpty, upload == nil else {
        throw ValidationError("-G goes with -d alone; -F, -T and --json send a body.")
      }
      if hasData {
        specification.url = Self.adding(try String(decoding: pieces(), as: UTF8.self), to: specification.url)
      }
      return
    }
    if let upload {
      specification.method = specification.method ?? "PUT"
      specification.body = upload == "-" || upload == "." ? .standardInput : .upload(upload)
      if specification.body?.isFile == true { specification.url = Self.naming(upload, in: specification.url) }
    } else if !form.isEmpty || !formStrings.isEmpty {
      specification.body = .form(
        try form.map { try FormField($0) } + formStrings.map { try FormField($0, isLiteral: true) })
    } else if !json.isEmpty {
      specification.body = try jsonBody()
      for name in ["Content-Type", "Accept"]
      where !specification.decides(on: name) {
        specification.headers.append((name, "application/json"))
      }
    } else if hasData {
      specification.body = try dataBody()
    }
  }

  private func dataBody() throws -> RequestSpecification.Body {
    // A single file is streamed instead of read into memory.
    if dataBinary.count == 1, (data + dataRaw + dataURLEncode).isEmpty, let file = Self.file(dataBinary[0]) {
      return .file(file)
    }
    return .bytes(try pieces())
  }

  private func jsonBody() throws -> RequestSpecification.Body {
    if json.count == 1, let file = Self.file(json[0]) { return .file(file) }
    return .bytes(try json.flatMap { try Self.content($0) })
  }

  /// Returns the name of a file after `@`; `nil` for any other text, and for standard input.
  private static func file(_ text: String) -> String? {
    text.hasPrefix("@") && text != "@-" ? String(text.dropFirst()) : nil
  }

  private func pieces() throws -> [UInt8] {
    let plain = try data.map { text in
      text.hasPrefix("@") ? try Self.content(text).filter { ![0x00, 0x0A, 0x0D].contains($0) } : Array(text.utf8)
    }
    let others = try dataBinary.map { try Self.content($0) } + dataRaw.map { Array($0.utf8) }
    let encoded = try dataURLEncode.map { try Self.encoded($0) }
    return Array((plain + others + encoded).joined(separator: [UInt8(ascii: "&")]))
  }

  /// Returns the bytes of a text, or the content of the file named after `@`.
  private static func content(_ text: String) throws -> [UInt8] {
    guard text.hasPrefix("@") else { return Array(text.utf8) }
    return text == "@-" ? try StandardInput.readToEnd() : try StandardInput.read(file: String(text.dropFirst()))
  }

  /// Percent-encodes the text after the first `=` or `@`; the name before it is sent unchanged.
  static func encoded(_ text: String) throws -> [UInt8] {
    guard let mark = text.firstIndex(of: "=") ?? text.firstIndex(of: "@") else {
      return Array(percentEncoded(text.utf8, space: "+").utf8)
    }
    let value = text[text.index(after: mark)...]
    let bytes = text[mark] == "=" ? Array(value.utf8) : try content("@" + value)
    let name = mark == text.startIndex ? "" : text[..<mark] + "="
    return Array((name + percentEncoded(bytes, space: "+")).utf8)
  }

  static func percentEncoded(_ bytes: some Sequence<UInt8>, space: String) -> String {
    bytes.reduce(into: "") { text, byte in
      if byte == 0x20 { text += space } else { text.append(byte, keeping: .unreserved) }
    }
  }

  /// Appends to the query of a URL.
  static func adding(_ query: String, to url: String) -> String {
    let end = url.firstIndex(of: "#") ?? url.endIndex
    let mark = !url[..<end].contains("?") ? "?" : url[..<end].hasSuffix("?") ? "" : "&"
    return url[..<end] + mark + query + url[end...]
  }

  private static func naming(_ path: String, in url: String) -> String {
    let name = percentEncoded((path.split(separator: "/").last ?? "").utf8, space: "%20")
    let end = url.firstIndex { "?#".contains($0) } ?? url.endIndex
    let start = url.firstRange(of: "://")?.upperBound ?? url.startIndex
    guard start < end, url[start..<end].contains("/") else { return url[..<end] + "/" + name + url[end...] }
    return url[..<end].hasSuffix("/") ? url[..<end] + name + url[end...] : url
  }
}

extension RequestSpecification.Body {
  fileprivate var isFile: Bool { if case .upload = self { true } else { false } }
}
