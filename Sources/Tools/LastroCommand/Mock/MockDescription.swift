// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSupport
import LastroTesting

/// Responses from an OpenAPI 3 document: the first example of an operation, or a value of its schema.
struct MockDescription: Sendable {
  private struct Operation: Sendable {
    let method: String
    let value: JSONValue
  }

  private struct Template: Sendable {
    /// The segments of the path, each with the texts around its parameter; a single text without a parameter.
    let segments: [[Substring]]
    let text: String
    let operations: [Operation]

    /// The number of segments without a parameter. Of several templates that match, the most concrete one is chosen.
    var fixedSegments: Int { segments.count { $0.count == 1 } }

    func matches(_ path: [Substring]) -> Bool {
      path.count == segments.count
        && zip(path, segments).allSatisfy { part, pieces in
          guard let first = pieces.first, let last = pieces.last, pieces.count > 1 else { return pieces == [part] }
          return part.hasPrefix(first) && part.hasSuffix(last) && part.count > first.count + last.count
        }
    }
  }

  private static let methods = ["get", "put", "post", "delete", "options", "head", "patch", "trace"]

  private let reader: MockSchema
  private let templates: [Template]
  /// The paths of the servers' URLs, which may precede those of operations.
  private let prefixes: [String]

  /// - Throws: `ConfigurationError` for another kind of document.
  init(_ document: JSONValue) throws(ConfigurationError) {
    guard case .string(let version)? = document["openapi"], version.hasPrefix("3.") else {
      throw ConfigurationError(
        "the document is neither an HTTP archive nor an OpenAPI 3 document",
        hint: "give a HAR file, or JSON with \"openapi\": \"3.…\"")
    }
    let reader = MockSchema(root: document)
    self.reader = reader
    templates = document["paths"].members.map { path, item in
      let item = reader.resolved(item)
      return Template(
        segments: Self.segments(path), text: path,
        operations: Self.methods.compactMap { method in
          item[method].map { Operation(method: method.uppercased(), value: $0) }
        })
    }
    let paths = document["servers"].elements.compactMap { server -> String? in
      guard case .string(let url)? = server["url"] else { return nil }
      let path = url.hasPrefix("/") ? MockTarget(target: url).path : MockTarget(url: url).path
      return path.hasSuffix("/") ? String(path.dropLast()) : path
    }
    prefixes = paths.filter { !$0.isEmpty }.sorted { $0.utf8.count > $1.utf8.count } + [""]
  }

  /// The number of operations.
  var count: Int { templates.reduce(0) { $0 + $1.operations.count } }

  func response(to request: LoopbackRequest) -> LoopbackResponse {
    for prefix in prefixes where request.path.hasPrefix(prefix + "/") {
      let path = request.path.dropFirst(prefix.count + 1).split(separator: "/", omittingEmptySubsequences: false)
      let found = templates.filter { $0.matches(path) }.max { $0.fixedSegments < $1.fixedSegments }
      guard let found else { continue }
      let operation =
        found.operations.first { $0.method == request.method }
        ?? found.operations.first { request.method == "HEAD" && $0.method == "GET" }
      guard let operation else {
        return .refusal(405, "\(found.text) has no \(request.method)")
          .adding("Allow", found.operations.map(\.method).joined(separator: ", "))
      }
      return response(of: operation.value)
    }
    let known = templates.map(\.text).sorted().prefix(10).joined(separator: ", ")
    return .refusal(404, "the document has no path for \(request.path); there are: \(known)")
  }

  /// Returns the segments of a template. A parameter, such as `{id}`, separates the texts before and after it.
  private static func segments(_ path: String) -> [[Substring]] {
    path.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map { segment in
      guard let open = segment.firstIndex(of: "{"), let close = segment.lastIndex(of: "}"), open < close else {
        return [segment]
      }
      return [segment[..<open], segment[segment.index(after: close)...]]
    }
  }

  /// Returns the response of the lowest 2xx status, else the default response, else that of the lowest status.
  private func response(of operation: JSONValue) -> LoopbackResponse {
    let responses = operation["responses"].members
    let chosen =
      responses.first { $0.name.hasPrefix("2") } ?? responses.first { $0.name == "default" } ?? responses.first
    guard let chosen else { return LoopbackResponse(status: 200) }
    // A range, such as 2XX, stands for its first status.
    let status = Int(chosen.name.lowercased().replacing("x", with: "0")) ?? 200
    var response = LoopbackResponse(status: (200...599).contains(status) ? status : 200)
    let value = reader.resolved(chosen.value)
    for (name, header) in value["headers"].members {
      guard let example = reader.example(of: reader.resolved(header)), let name = MockTarget.field(name) else {
        continue
      }
      let text = if case .string(let text) = example { text } else { example.text }
      if MockTarget.isValue(text) { response = response.adding(name, text) }
    }
    let contents = value["content"].members
    guard let content = contents.first(where: { $0.name.contains("json") }) ?? contents.first else { return response }
    if MockTarget.isValue(content.name) { response = response.adding("Content-Type", content.name) }
    let media = reader.resolved(content.value)
    let body = reader.example(of: media) ?? media["schema"].map { reader.value(of: $0) } ?? .null
    // A text is the body itself, unless the body is JSON.
    if case .string(let text) = body, !content.name.contains("json") {
      response.body = Array(text.utf8)
    } else {
      response.body = Array(body.text.utf8)
    }
    return response
  }
}
