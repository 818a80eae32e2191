// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import Lastro

/// A form of texts and files, as browsers send it: `multipart/form-data` (RFC 7578).
///
/// ```swift
/// var form = MultipartForm()
/// form.add("title", "Lisbon")
/// try form.add("photo", file: "/var/photos/1.jpg", contentType: "image/jpeg")
/// let answer = try await stack.fetch(.send(.post, url, body: try .multipart(form), as: Photo.self))
/// ```
///
/// Parts keep their order, and names may repeat. Names and file names may be any text: characters that would end their
/// quotes or their line are escaped as browsers do. A form is a value, so a copy can be extended and sent separately.
///
/// Every transmission, also for a retry or a redirect, sends the same bytes: the boundary belongs to the form, or to
/// the call if the form is made afresh for each attempt.
public struct MultipartForm: Sendable {
  var parts: [FormPart] = []
  let boundary: FormBoundary

  /// Creates a form without parts.
  ///
  /// - Parameters:
  ///   - boundary: the separator of the parts: 1 to 70 of the characters that RFC 2046 §5.1.1 allows, contained in no
  ///     part. `RequestBody.multipart(_:)` refuses others. Default: a random one of 142 bits.
  ///   - randomSource: the source of a random boundary. Default: the system's.
  public init(boundary: String? = nil, randomSource: RandomSource = .system) {
    self.boundary = FormBoundary(boundary, randomSource)
  }

  /// Adds a text. A lone CR or LF is sent as CRLF, as browsers do; no content type is sent.
  public mutating func add(_ name: String, _ value: String) { addText(name, value) }

  /// Adds a text that is masked in every description of the request.
  public mutating func add(_ name: String, secret: Secret) { addText(name, secret.reveal(), secrets: [secret]) }

  /// Adds bytes.
  ///
  /// - Parameters:
  ///   - name: the part's name.
  ///   - data: the bytes, which are sent unchanged.
  ///   - filename: a file name, which makes the part a file. Default: none.
  ///   - contentType: the content type. Default: `application/octet-stream` with a file name, none without.
  ///   - fields: further fields of the part. Default: none.
  public mutating func add(
    _ name: String, _ data: Data, filename: String? = nil, contentType: String? = nil, fields: RawHeaders = [:]
  ) {
    add(name, RequestBody.raw(data, contentType: contentType), filename: filename, fields: fields)
  }

  /// Adds a file, which is opened when its part is sent, and read 128 KiB at a time.
  ///
  /// The size is determined now: if the file is shorter when it is sent, the fetch fails; bytes appended later are not
  /// sent.
  ///
  /// - Parameters:
  ///   - name: the part's name.
  ///   - path: the path of a regular file.
  ///   - filename: the file name sent to the server. Default: the last component of the path.
  ///   - contentType: the content type. Default: `application/octet-stream`.
  ///   - fields: further fields of the part. Default: none.
  /// - Throws: code `invalid_body` if the file does not exist, is not a regular file or cannot be read.
  public mutating func add(
    _ name: String, file path: String, filename: String? = nil, contentType: String? = nil, fields: RawHeaders = [:]
  ) throws(TransportError) {
    let body = try RequestBody.file(path: path, contentType: contentType)
    let last = path.split(separator: "/").last.map(String.init)
    add(name, body, filename: filename ?? last ?? path, fields: fields)
  }

  /// Adds the content of any body: JSON, chunks of a sequence, another form.
  ///
  /// ```swift
  /// form.add("log", .stream(lines, isReplayable: false), filename: "today.log")
  /// ```
  ///
  /// The form can be sent again if every part can, and its length is known if every part's length is. A stream that
  /// supplies fewer or more bytes than it announced fails the fetch.
  ///
  /// - Parameters:
  ///   - name: the part's name.
  ///   - body: the content; its content type becomes the part's.
  ///   - filename: a file name, which makes the part a file. Default: none.
  ///   - fields: further fields of the part. Default: none.
  public mutating func add(_ name: String, _ body: RequestBody, filename: String? = nil, fields: RawHeaders = [:]) {
    parts.append(FormPart(name: name, filename: filename, fields: fields, body: body))
  }

  private mutating func addText(_ name: String, _ value: String, secrets: [Secret] = []) {
    let bytes = Data(FormPart.normalized(value).utf8)
    parts.append(FormPart(name: name, body: RequestBody(source: .bytes(bytes), secrets: secrets)))
  }
}
