// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import LastroEveryday

@Suite("Closures that get the progress of a transfer", .timeLimit(.minutes(15)))
struct ProgressClosureTests {
  private let clock = ManualClock(autoAdvance: true)
  private let seen = Lock<[TransferProgress]>([])

  private func download(
    _ origin: RangeOrigin, edit: (inout DownloadOptions) -> Void = { _ in }
  ) async throws -> DownloadedFile {
    let transport = ScriptedTransport { (request, _) throws(TransportError) in try origin.answer(request) }
    var options = DownloadOptions()
    options.files = SimulatedFiles()
    edit(&options)
    return try await TransportNetworkStack(transport, time: clock.timeSource)
      .download(.get("https://example.org/file"), to: "/d/file", options: options) { [seen] progress in
        seen.withLock { $0.append(progress) }
      }
  }

  private func upload(_ origin: UploadOrigin, edit: (inout UploadOptions) -> Void = { _ in }) async throws -> String? {
    let transport = ScriptedTransport { (request, _) throws(TransportError) in try await origin.answer(request) }
    var options = UploadOptions(.tus)
    options.files = origin.files
    edit(&options)
    return try await TransportNetworkStack(transport, time: clock.timeSource)
      .upload(file: "/f", to: .get("https://example.org/files"), options: options) { [seen] progress in
        seen.withLock { $0.append(progress) }
      }.url
  }

  @Test("The last progress of a download is known when it returns, and the counts never decrease")
  func downloads() async throws {
    let file = try await download(RangeOrigin(bytes: 10_000, [.cut(after: 6_000)]))
    let counts = seen.withLock { $0.map(\.bytesReceived) }
    #expect(file.length == 10_000 && counts.last == 10_000 && counts == counts.sorted())
  }

  @Test("The last progress of an upload is known when it returns")
  func uploads() async throws {
    #expect(try await upload(UploadOrigin(bytes: 3_000, .tus, [.cut(after: 1_000)])) != nil)
    #expect(seen.withLock { $0.last?.bytesSent } == 3_000 && seen.withLock { $0.last?.totalBytesToSend } == 3_000)
  }

  @Test("A transfer that fails has made its last call")
  func failing() async throws {
    let origin = RangeOrigin(bytes: 10_000, [.cut(after: 6_000)])
    await #expect(throws: HTTPFetchError<any Error>.self) { try await download(origin) { $0.retries = .maxRetries(0) } }
    #expect(seen.withLock { $0.last?.bytesReceived } == 6_000)
  }

  @Test("A reporter beside the closure is refused before anything is sent, and ends")
  func both() async throws {
    let reporter = TransferProgressReporter()
    let (downloads, uploads) = (RangeOrigin(bytes: 10), UploadOrigin(bytes: 10, .tus))
    let first = await #expect(throws: HTTPFetchError<any Error>.self) {
      try await download(downloads) { $0.progress = reporter }
    }
    let second = await #expect(throws: HTTPFetchError<any Error>.self) {
      try await upload(uploads) { $0.progress = reporter }
    }
    #expect(first?.code == .invalidOption && second?.code == .invalidOption)
    #expect(downloads.requests.isEmpty && uploads.requests.isEmpty && seen.withLock { $0.isEmpty })
    for await _ in reporter.updates {}
  }
}
