// SPDX-License-Identifier: Apache-2.0

// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

public import Dispatch
public import Foundation

// The declarations of Apple's Network framework that `NWConnection+Connection.swift` uses, after its public interface.
// `.ci/network.py` compiles that file with them. They do nothing.

public typealias DNSServiceErrorType = Int32
public typealias OSStatus = Int32

public enum NWError: Error {
  case posix(POSIXErrorCode)
  case dns(DNSServiceErrorType)
  case tls(OSStatus)
}

public final class NWConnection: Sendable {
  public enum State: Sendable {
    case setup
    case waiting(NWError)
    case preparing
    case ready
    case failed(NWError)
    case cancelled
  }

  public enum SendCompletion: Sendable {
    case contentProcessed(@Sendable (_ error: NWError?) -> Void)
    case idempotent
  }

  public final class ContentContext: Sendable {
    public static let finalMessage = ContentContext(identifier: "final", isFinal: true)
    public static let defaultMessage = ContentContext(identifier: "default")
    public let identifier: String
    public let isFinal: Bool

    public init(identifier: String, expiration: UInt64 = 0, priority: Double = 0.5, isFinal: Bool = false) {
      self.identifier = identifier
      self.isFinal = isFinal
    }
  }

  public var stateUpdateHandler: (@Sendable (_ state: State) -> Void)? {
    get { nil }
    set {}
  }

  public var viabilityUpdateHandler: (@Sendable (_ isViable: Bool) -> Void)? {
    get { nil }
    set {}
  }

  public func start(queue: DispatchQueue) {}

  public func cancel() {}

  public func send(
    content: Data?, contentContext: ContentContext = .defaultMessage, isComplete: Bool = true,
    completion: SendCompletion
  ) {}

  public func receive(
    minimumIncompleteLength: Int, maximumLength: Int,
    completion: @escaping @Sendable (Data?, ContentContext?, Bool, NWError?) -> Void
  ) {}

  public func receiveMessage(completion: @escaping @Sendable (Data?, ContentContext?, Bool, NWError?) -> Void) {}
}
