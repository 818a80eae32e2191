// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
public import Lastro
internal import LastroWire

extension HTTPNetworkStack {
  /// Reads a resource, changes it, and writes it only if nobody else has changed it since (RFC 9110 §13.1.1).
  ///
  /// ```swift
  /// try await stack.update(.get("/notes/7", as: Note.self)) { note in
  ///   note.isDone ? nil : HTTPResource.put("/notes/7", json: note.done(), as: Note.self)
  /// }
  /// ```
  ///
  /// The resource is read from the server, past every cache, and without content codings, because servers weaken the
  /// `ETag` of compressed responses. The write has the strong `ETag` in `If-Match`. Without one it has `Last-Modified`
  /// in `If-Unmodified-Since`, if that is older than the response by a second or more: otherwise two changes within that
  /// second could not be told apart (§8.8.2.2).
  ///
  /// If the server refuses the write with 412 because the resource has changed, it is read again, and `change` is called
  /// with the result of others. This is not done if an earlier attempt of the write may have been applied, because its
  /// response was lost: the 412 may then be due to this very write, and the error is thrown.
  ///
  /// Cancelling the task cancels the call in progress.
  ///
  /// - Parameters:
  ///   - resource: the resource to read.
  ///   - attempts: the maximum number of writes. Default 5; a number below 1 counts as 1. Between two writes, the call
  ///     waits for a random part of 100 ms, which doubles each time up to 5 s.
  ///   - change: gets the model, and returns the resource to write it; `nil` if nothing is to change.
  /// - Returns: the response to the write; `nil` if `change` returned `nil`.
  /// - Throws: the `HTTPFetchError` of the read or of the write, each with the error type of its resource. Status 412 if
  ///   every attempt met a change of others, or if a lost write may have been applied. Code `no_validator`, in the error
  ///   type of the read, if the response to the read has nothing by which a change can be noticed. The errors of
  ///   `change`; `CancellationError` if the task is cancelled between two writes.
  @discardableResult
  public func update<Model, ReadError, Result, WriteError>(
    _ resource: HTTPResource<Model, ReadError>, attempts: Int = 5,
    change: (Model) async throws -> HTTPResource<Result, WriteError>?
  ) async throws -> Fetched<Result, ResourceResponse>? {
    let configuration = ownConfiguration
    let reading = resource.pastCaches
    var bound = Duration.milliseconds(100)
    var attempt = 1
    while true {
      let read = try await fetch(reading)
      guard let condition = Precondition(read.response) else {
        throw HTTPFetchError<ReadError>.noValidator(in: read.response)
      }
      guard let write = try await change(read.value) else { return nil }
      do throws(HTTPFetchError<WriteError>) {
        return try await fetch(write.setting(condition.name, condition.value))
      } catch {
        guard error.statusCode == .preconditionFailed, attempt < attempts, !error.mayHaveBeenApplied else {
          throw error
        }
      }
      try await configuration.timeSource.sleep(bound * configuration.randomSource.unit())
      bound = min(bound * 2, .seconds(5))
      attempt += 1
    }
  }
}

/// The condition under which a resource is written.
private struct Precondition {
  let name: HTTPField.Name
  let value: String

  /// Makes the condition from the response to a read; `nil` if a change could not be noticed.
  init?(_ response: ResourceResponse) {
    let tags = response.headerFields[values: .eTag]
    if tags.count == 1, tags[0].isStrongTag {
      (name, value) = (.ifMatch, tags[0])
    } else if let date = response.headerFields[.lastModified], let sent = response.headerFields[.date],
      let changed = HTTPDate.seconds(date, now: HTTPDate.lastSecond),
      let now = HTTPDate.seconds(sent, now: HTTPDate.lastSecond), changed < now
    {
      (name, value) = (.ifUnmodifiedSince, date)
    } else {
      return nil
    }
  }
}

extension String {
  /// Whether the text is a strong entity tag (RFC 9110 §8.8.3).
  fileprivate var isStrongTag: Bool {
    utf8.count >= 2 && utf8.first == UInt8(ascii: "\"") && utf8.last == UInt8(ascii: "\"")
      && utf8.dropFirst().dropLast().allSatisfy { $0 == 0x21 || 0x23...0x7E ~= $0 || $0 >= 0x80 }
  }
}

extension HTTPFetchError {
  /// Whether an attempt before the last one was sent and ended without a response.
  fileprivate var mayHaveBeenApplied: Bool { attempts.dropLast().contains { $0.requestSent && $0.status == nil } }

  fileprivate static func noValidator(in response: ResourceResponse) -> Self {
    Self(
      .transport(
        TransportError(
          stage: .response, code: .noValidator,
          message: "the response has nothing by which a change of the resource can be noticed",
          hint: "ask the API's owner for a strong ETag, or write the resource without a condition", requestSent: true)),
      request: response.ledger.request, response: response, attempts: response.attempts)
  }
}

extension HTTPResource {
  /// The resource, requested from the server even if a cache has it, and as it is.
  fileprivate var pastCaches: Self {
    var resource = self
    resource.options.cache = .reload
    return resource.setting(.cacheControl, "no-cache").setting(.acceptEncoding, "identity")
  }

  /// Returns the resource with a field of its request.
  fileprivate func setting(_ name: HTTPField.Name, _ value: String) -> Self {
    var resource = self
    resource.baseRequestMaking = baseRequestMaking.changing { $0.head.headerFields[name] = value }
    return resource
  }
}

extension FailureCode {
  /// A response has nothing by which a change of the resource could be noticed.
  public static let noValidator = Self("no_validator")
}
