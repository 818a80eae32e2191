// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroSupport

/// Performs the actions that an upload's machine decides.
struct UploadRun<Model: Sendable, APIError: Error> {
  typealias Failure = HTTPFetchError<APIError>

  let stack: any HTTPNetworkStack
  let resource: HTTPResource<Model, APIError>
  let options: UploadOptions
  let file: any OpenFile
  let status: FileStatus
  let path: String
  private let dialect: UploadProtocol
  private var machine: UploadMachine
  private let progress: TransferProgressReporter.Transfer?
  private var place: UploadPlace
  private var isTold = false
  private var failure: Failure?
  private var response: ResourceResponse?
  private var requests = 0
  private var losses: LossWait

  init(
    _ resource: HTTPResource<Model, APIError>, by stack: any HTTPNetworkStack, of file: any OpenFile,
    at path: String, _ status: FileStatus, base: ResourceRequest, options: UploadOptions
  ) {
    self.stack = stack
    self.resource = resource
    self.options = options
    self.file = file
    self.path = path
    self.status = status
    dialect = options.uploadProtocol
    progress = options.progress?.beginTransfer(totalBytesToSend: status.length)
    machine = UploadMachine(
      .init(
        dialect: dialect, length: status.length,
        sendsAtOnce: dialect == .draft && options.sendsContentAtOnce, bytesPerAppend: options.bytesPerAppend))
    losses = LossWait(retries: options.retries, timeSource: options.timeSource)
    place = UploadPlace(base: base, dialect: dialect, credentialOrigins: options.credentialOrigins)
  }

  /// - Parameter token: the token of an earlier upload to resume.
  mutating func run(_ token: UploadToken?) async throws(Failure) -> UploadedFile {
    if let token { place.url = token.url }
    isTold = token != nil
    var pending = machine.handle(.begun(hasURL: token != nil))[...]
    while let action = pending.popFirst() {
      if let event = try await perform(action) { pending += machine.handle(event) }
    }
    guard let response else { throw ended(by: .cancelled(requestSent: requests > 0)) }
    return UploadedFile(
      url: place.url, length: status.length, resumedFrom: machine.resumedFrom, requests: requests,
      response: response)
  }

  private mutating func perform(_ action: UploadMachine.Action) async throws(Failure) -> UploadMachine.Event? {
    switch action {
    case .create(let sendsAll):
      let content = sendsAll ? part(from: 0, count: status.length) : nil
      let (dialect, length, metadata) = (dialect, status.length, options.metadata)
      let digest = try await digest(from: 0, count: length)
      return await send { (request) throws(TransportError) in
        try dialect.create(&request, length: length, metadata: metadata, content: content, digest: digest)
      }
    case .probe:
      let dialect = dialect
      return await send { (request) throws(TransportError) in try dialect.probe(&request) }
    case .append(let from, let count, let isLast):
      let (dialect, content) = (dialect, part(from: from, count: count))
      let digest = try await digest(from: from, count: count)
      return await send { (request) throws(TransportError) in
        try dialect.append(&request, from: from, isLast: isLast, content: content, digest: digest)
      }
    case .wait(let fruitless): return try await wait(fruitless)
    case .done:
      progress?.report(sent: status.length)
      return nil
    case .fail(let reason): throw error(for: reason)
    }
  }

  /// Returns a part of the file as a body that can be sent again, and is read while it is sent.
  private func part(from start: Int64, count: Int64) -> RequestBody {
    let (file, progress) = (file, progress)
    let source = RequestBody.Source.stream(length: count, isReplayable: true) {
      var done: Int64 = 0
      return {
        guard done < count else { return nil }
        do throws(FileFailure) {
          let bytes = try file.read(upTo: Int(min(64 * 1024, count - done)), at: start + done)
          // The file became shorter: the body ends with fewer bytes than announced, and the request fails.
          guard !bytes.isEmpty else { return nil }
          done += Int64(bytes.count)
          progress?.report(sent: start + done)
          return bytes
        } catch {
          throw error.transportError(requestSent: true)
        }
      }
    }
    return RequestBody(source: source)
  }

  /// Returns a field value with the digest of bytes of the file; `nil` if digests are not sent.
  private func digest(from: Int64, count: Int64) async throws(Failure) -> String? {
    guard options.sendsDigests else { return nil }
    let file = file
    let found: MessageDigest?
    do throws(FileFailure) {
      found = try await FileDigest.compute(.sha256, length: count, isCancelled: { Task.isCancelled }) {
        (offset, count) throws(FileFailure) in
        try await BlockingCall.run { () throws(FileFailure) in try file.read(upTo: count, at: from + offset) }
      }
    } catch {
      throw ended(by: error.transportError(requestSent: requests > 0))
    }
    if let found { return DigestField.field(Digest(algorithm: .sha256, value: found)) }
    if Task.isCancelled { throw ended(by: .cancelled(requestSent: requests > 0)) }
    throw ended(by: .undigested(.sha256, path, requestSent: requests > 0))
  }

  private func ended(by error: TransportError) -> Failure {
    Failure(.transport(error), response: response, attempts: response?.attempts ?? [])
  }

  private func error(for reason: UploadMachine.Failure) -> Failure {
    switch reason {
    case .violation(let message): ended(by: .uploadMismatch(message))
    case .tooLarge(let limit): ended(by: .uploadTooLarge(status.length, limit: limit))
    case .tooSmall(let limit):
      ended(
        by: .uploadMismatch("the server takes uploads of \(limit) bytes or more, and the file has \(status.length)"))
    case .asItIs: failure ?? ended(by: .cancelled(requestSent: requests > 0))
    }
  }
}

// MARK: the network

extension UploadRun {
  private mutating func send(
    _ edit: @escaping @Sendable (inout ResourceRequest) throws(TransportError) -> Void
  ) async -> UploadMachine.Event {
    let asking = place.asking(resource, edit)
    requests += 1
    let event: UploadMachine.Event
    do throws(HTTPFetchError<any Error>) {
      let answer = try await stack.fetch(asking.raw)
      (response, failure) = (answer.response, nil)
      event = .answered(place.read(answer.response))
    } catch {
      failure = error.mapAPIError { $0 as? APIError }
      // A failed request may still have named the upload, by an interim response.
      if place.url != nil { _ = machine.handle(.named) }
      if case .http = error.reason, let answer = error.response {
        response = answer
        event =
          place.follow(answer, isMaking: machine.phase == .creating)
          ? .redirected : .refused(UploadAnswer(answer.head, dialect))
      } else {
        event = .lost(isFinal: !error.mayBeSentAgain)
      }
    }
    tellToken()
    return event
  }

  private mutating func tellToken() {
    guard !isTold, let url = place.url else { return }
    isTold = true
    options.onToken?(
      UploadToken(url: url, uploadProtocol: dialect, length: status.length, modified: status.modified))
  }

  private mutating func wait(_ fruitless: Int) async throws(Failure) -> UploadMachine.Event {
    let failure = failure ?? ended(by: .uploadMismatch("the server stores none of the bytes that it is sent"))
    try await losses.wait(
      after: failure, fruitless: fruitless, response: response, cancelled: ended(by: .cancelled(requestSent: true)))
    return .waited
  }
}

extension HTTPFetchError {
  /// Whether another attempt may succeed.
  fileprivate var mayBeSentAgain: Bool {
    switch (stage, code) {
    case (.timeout, .totalTimeout): false
    case (.response, _), (.send, _), (.connect, _), (.timeout, _), (.resolve, _): true
    default: false
    }
  }
}
