// SPDX-License-Identifier: Apache-2.0

public import Lastro

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A form of texts and files, as browsers send it: `multipart/form-data` (RFC 7578).
///
/// ```swift
/// var form = MultipartForm()
/// form.add("title", "Lisbon")
/// try form.add("photo", file: "/var/photos/1.jpg", contentType: "image/jpeg")
/// let answer = try await stack.fetch(.send(.post, url, body: try .multipart(form), as: Photo.self))
/// ```
///
/// Parts keep their order, and a name may come more than once. Names and file names may be any text: what would end
/// their quotes or their line is escaped as browsers do it. A value, so a copy can be added to and sent by itself.
///
/// Whatever sends it more than once, a retry or a redirect, sends the same bytes: the boundary belongs to the form, or
/// to the call where the form is made anew for each attempt.
public struct MultipartForm: Sendable {
  var parts: [FormPart] = []
  let boundary: FormBoundary

  /// Makes a form without parts.
  ///
  /// - Parameters:
  ///   - boundary: what separates the parts: 1 to 70 of the characters that RFC 2046 §5.1.1 allows, and found in no
  ///     part. `RequestBody.multipart(_:)` refuses others. Default: one that is drawn, of 142 bits.
  ///   - randomSource: what draws it. Default: the system's.
  public init(boundary: String? = nil, randomSource: RandomSource = .system) {
    self.boundary = FormBoundary(boundary, randomSource)
  }

  /// Adds a text. A CR or LF that stands alone is sent as CRLF, as browsers do; no type is sent.
  public mutating func add(_ name: String, _ value: String) { addText(name, value) }

  /// Adds a text that is masked in all that tells of the request.
  public mutating func add(_ name: String, secret: Secret) { addText(name, secret.reveal(), secrets: [secret]) }

  /// Adds bytes.
  ///
  /// - Parameters:
  ///   - name: the part's name.
  ///   - data: sent as they are.
  ///   - filename: makes a file of it. Default: none.
  ///   - contentType: default: `application/octet-stream` with a file name, none without.
  ///   - fields: further fields of the part. Default: none.
  public mutating func add(
    _ name: String, _ data: Data, filename: String? = nil, contentType: String? = nil, fields: RawHeaders = [:]
  ) {
    add(name, RequestBody.raw(data, contentType: contentType), filename: filename, fields: fields)
  }

  /// Adds a file, which is opened when its turn comes, and read 64 KiB at a time.
  ///
  /// Its size is that of this moment: where it is shorter when it is sent, the fetch fails; what was added to it later
  /// is not sent.
  ///
  /// - Parameters:
  ///   - name: the part's name.
  ///   - path: of a regular file.
  ///   - filename: told to the server. Default: the last component of the path.
  ///   - contentType: default: `application/octet-stream`.
  ///   - fields: further fields of the part. Default: none.
  /// - Throws: code `invalid_body`, when the file does not exist, is not a regular one or cannot be read.
  public mutating func add(
    _ name: String, file path: String, filename: String? = nil, contentType: String? = nil, fields: RawHeaders = [:]
  ) throws(TransportError) {
    let body = try RequestBody.file(path: path, contentType: contentType)
    let last = path.split(separator: "/").last.map(String.init)
    add(name, body, filename: filename ?? last ?? path, fields: fields)
  }

  /// Adds what any body has: JSON, chunks of a sequence, another form.
  ///
  /// ```swift
  /// form.add("log", .stream(lines, isReplayable: false), filename: "today.log")
  /// ```
  ///
  /// The form can be sent again if every part can, and its length is known if every part's is. A stream that gives
  /// fewer or more bytes than it announced fails the fetch.
  ///
  /// - Parameters:
  ///   - name: the part's name.
  ///   - body: its type is the part's.
  ///   - filename: makes a file of it. Default: none.
  ///   - fields: further fields of the part. Default: none.
  public mutating func add(_ name: String, _ body: RequestBody, filename: String? = nil, fields: RawHeaders = [:]) {
    parts.append(FormPart(name: name, filename: filename, fields: fields, body: body))
  }

  private mutating func addText(_ name: String, _ value: String, secrets: [Secret] = []) {
    let bytes = Data(FormPart.normalized(value).utf8)
    parts.append(FormPart(name: name, body: RequestBody(source: .bytes(bytes), secrets: secrets)))
  }
}
