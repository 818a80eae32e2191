// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import LastroTransports

/// The content that a connection returns.
typealias ReceivedContent = (data: Data, context: ConnectionContentContext?, isComplete: Bool)

/// Returns whether no more content will arrive: the content is complete, and its context is final or unknown.
func endsStream(_ content: ReceivedContent) -> Bool { content.isComplete && (content.context?.isFinal ?? true) }
